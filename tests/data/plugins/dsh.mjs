const [file, cwd] = process.argv.slice(2)
const { apply, name } = await import(file)
const listeners = {}
apply({ on: (event, listener) => (listeners[event] = listener) })
const injected = []
const session = { header: { id: "s", cwd } }
const agent = { session, inject: (message) => injected.push(message) }
await listeners["agent/session-start"]({ agent, source: "startup" })
const messages = [{ role: "user", content: [] }]
const step = { agent, messages, turn: 1, step: 1 }
const entered = await listeners["agent/pre-step"](step, async () => ({ kind: "enter", messages }))
const rejected = await listeners["agent/pre-step"](step, async () => ({ kind: "reject" }))
const exec = { name: "bash", callId: "c", arguments: {}, agent }
const result = { isError: false, content: [] }
const accept = async () => ({ kind: "accept" })
const done = await listeners["tools/post-execute"](exec, result, accept)
await listeners["agent/turn-stopping"]({ agent, turn: 1 })
const texts = (list) => list.flatMap((message) => message.content.map((part) => part.text))
console.log(JSON.stringify([
  name, texts(injected), texts(entered.messages), rejected, texts(done.additionalContexts),
]))
