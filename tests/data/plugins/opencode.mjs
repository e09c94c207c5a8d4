const [file, cwd] = process.argv.slice(2)
const { GitTmem } = await import(file)
const hooks = await GitTmem({ directory: cwd, worktree: cwd })
const system = { system: ["first"] }
await hooks["experimental.chat.system.transform"]({ sessionID: "s" }, system)
const again = { system: ["first"] }
await hooks["experimental.chat.system.transform"]({ sessionID: "s" }, again)
const chat = { message: {}, parts: [{ type: "text", text: "fix it" }] }
await hooks["chat.message"]({ sessionID: "s" }, chat)
const tool = { title: "t", output: "1 failed", metadata: { exit: 1 } }
await hooks["tool.execute.after"]({ tool: "bash", sessionID: "s", callID: "c", args: {} }, tool)
await hooks.event({ event: { type: "session.idle", properties: { sessionID: "s" } } })
console.log(JSON.stringify([system, again, chat.parts, tool.output]))
