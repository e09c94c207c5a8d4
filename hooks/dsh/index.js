// git-tmem: memory of this repository, for DeepSeek Harness. Made by: git tmem init
import { spawn } from "node:child_process"

const COMMAND = "git tmem hook dsh" // an event follows; without quotes, for every shell

// What git-tmem has to say of an event, "" when it says nothing, is not there or is too slow.
function ask(event, payload, cwd) {
  return new Promise((done) => {
    const [program, ...words] = [...COMMAND.split(" "), event]
    const child = spawn(program, words, { cwd, stdio: ["pipe", "pipe", "ignore"], windowsHide: true })
    let text = ""
    const timer = setTimeout(() => child.kill(), 3000)
    const end = (said) => (clearTimeout(timer), done(said))
    child.on("error", () => end(""))
    child.stdin.on("error", () => {})
    child.stdout.setEncoding("utf8").on("data", (part) => (text += part))
    child.on("close", () => end(context(text)))
    child.stdin.end(JSON.stringify(payload))
  })
}

function context(text) {
  try {
    const said = JSON.parse(text).additionalContext
    return typeof said === "string" ? said : ""
  } catch {
    return ""
  }
}

export const name = "dsh-tmem"

const message = (text) => ({
  role: "user",
  content: [{ type: "text", text }],
  source: { kind: "plugin", plugin: "tmem" },
})

export function apply(ctx) {
  const send = (event, agent, rest) => {
    const session = agent?.session?.header ?? {}
    const cwd = session.cwd ?? process.cwd()
    return ask(event, { session_id: session.id ?? "", cwd, ...rest }, cwd)
  }
  ctx.on("agent/session-start", async ({ agent, source }) => {
    const said = await send("agent/session-start", agent, { source })
    if (said) agent.inject(message(said))
  })
  ctx.on("agent/pre-step", async ({ agent, messages, turn, step }, next) => {
    const said = step > 1 ? "" : await send("agent/pre-step", agent, { messages, turn, step })
    const entered = await next()
    if (!said || entered?.kind !== "enter") return entered
    return { ...entered, messages: [...entered.messages, message(said)] }
  })
  ctx.on("tools/post-execute", async (exec, result, next) => {
    const done = await next()
    const told = { name: exec.name, callId: exec.callId, arguments: exec.arguments }
    const said = await send("tools/post-execute", exec.agent, { exec: told, result })
    if (!said || done?.kind !== "accept") return done
    return { ...done, additionalContexts: [...(done.additionalContexts ?? []), message(said)] }
  })
  ctx.on("agent/turn-stopping", async ({ agent, turn }) => {
    await send("agent/turn-stopping", agent, { turn })
  })
}
