// git-tmem: memory of this repository, for opencode. Made by: git tmem init
import { spawn } from "node:child_process"

const COMMAND = "git tmem hook opencode" // an event follows; without quotes, for every shell

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

export const GitTmem = async ({ directory, worktree }) => {
  const cwd = directory || worktree || process.cwd()
  const starts = new Map() // session -> its index block, asked for once and the same ever after
  const send = (event, session, rest) => ask(event, { session_id: session, cwd, ...rest }, cwd)
  const start = (session) => {
    if (!starts.has(session)) starts.set(session, send("session.created", session, {}))
    return starts.get(session)
  }
  return {
    event: async ({ event }) => {
      if (event.type === "session.idle") {
        await send("session.idle", event.properties.sessionID, { event })
      }
    },
    "experimental.chat.system.transform": async (input, output) => {
      if (!input.sessionID) return
      const said = await start(input.sessionID)
      if (said) output.system.push(said)
    },
    "chat.message": async (input, output) => {
      const said = await send("chat.message", input.sessionID, { input, output })
      const text = output.parts.find((part) => part.type === "text")
      if (said && text) text.text += "\n\n" + said
    },
    "tool.execute.after": async (input, output) => {
      const said = await send("tool.execute.after", input.sessionID, { input, output })
      if (said) output.output += "\n\n" + said
    },
  }
}
