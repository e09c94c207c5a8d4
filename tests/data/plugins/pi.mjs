const [file, cwd] = process.argv.slice(2)
const handlers = {}
;(await import(file)).default({ on: (name, handler) => (handlers[name] = handler) })
const ctx = { cwd, sessionManager: { getSessionFile: () => undefined } }
const started = await handlers.before_agent_start({ prompt: "fix it" }, ctx)
const content = [{ type: "text", text: "1 failed" }]
const result = await handlers.tool_result({ toolName: "bash", content, isError: true }, ctx)
await handlers.agent_end({ messages: [] }, ctx)
await handlers.session_shutdown({}, ctx)
console.log(JSON.stringify([started, result]))
