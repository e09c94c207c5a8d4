// git-tmem: memory of this repository, for pi. Made by: git tmem init
import { spawn } from "node:child_process"

const COMMAND = "git tmem hook pi" // an event follows; without quotes, for every shell

// What git-tmem has to say of an event, "" when it says nothing, is not there or is too slow.
function ask(event: string, payload: unknown, cwd: string): Promise<string> {
  return new Promise((done) => {
    const [program, ...words] = [...COMMAND.split(" "), event]
    const child = spawn(program, words, { cwd, stdio: ["pipe", "pipe", "ignore"], windowsHide: true })
    let text = ""
    const timer = setTimeout(() => child.kill(), 3000)
    const end = (said: string) => (clearTimeout(timer), done(said))
    child.on("error", () => end(""))
    child.stdin.on("error", () => {})
    child.stdout.setEncoding("utf8").on("data", (part) => (text += part))
    child.on("close", () => end(context(text)))
    child.stdin.end(JSON.stringify(payload))
  })
}

function context(text: string) {
  try {
    const said = JSON.parse(text).additionalContext
    return typeof said === "string" ? said : ""
  } catch {
    return ""
  }
}

export default function (pi: any) {
  const send = (event: any, ctx: any) => {
    const file = ctx.sessionManager?.getSessionFile?.() ?? ""
    return ask(event.type, { ...event, session_id: file, transcript_path: file, cwd: ctx.cwd }, ctx.cwd)
  }
  pi.on("before_agent_start", async (event: any, ctx: any) => {
    const said = await send({ ...event, type: "before_agent_start" }, ctx)
    return said ? { message: { customType: "git-tmem", content: said, display: false } } : undefined
  })
  pi.on("tool_result", async (event: any, ctx: any) => {
    const said = await send({ ...event, type: "tool_result" }, ctx)
    return said ? { content: [...event.content, { type: "text", text: said }] } : undefined
  })
  pi.on("agent_end", async (_event: any, ctx: any) => {
    await send({ type: "agent_end" }, ctx)
  })
  pi.on("session_shutdown", async (_event: any, ctx: any) => {
    await send({ type: "session_shutdown" }, ctx)
  })
}
