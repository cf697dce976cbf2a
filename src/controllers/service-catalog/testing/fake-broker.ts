/** A service broker over HTTP that keeps what it is asked for in memory, and can be told to be slow or to refuse. */
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'

type Body = Record<string, unknown>
export type Asked = { method: string; path: string; query: Record<string, string>; body: Body; headers: IncomingMessage['headers'] }

export type FakeBroker = AsyncDisposable & {
  readonly url: string
  readonly asked: Asked[]
  readonly instances: Map<string, Body>
  readonly bindings: Map<string, Body>
  services: object[]
  /** How often an operation is answered with "in progress" before it is over; undefined: at once. */
  pollsUntilDone: number | undefined
  /** Whether operations that take their time fail in the end. */
  failsInTheEnd: boolean
  /** The next requests to provision, update or bind are answered with these instead; some do what they were asked for all the same. */
  readonly refusals: { status: number; body: Body; doesIt?: boolean }[]
}

export async function startFakeBroker(services: object[]): Promise<FakeBroker> {
  const polls = new Map<string, { left: number; fails: boolean; settle(): void }>()
  const polled = (key: string): [number, Body] => {
    const poll = polls.get(key)
    if (poll === undefined) return [410, {}]
    if (poll.left-- > 0) return [200, { state: 'in progress' }]
    polls.delete(key)
    if (poll.fails) return [200, { state: 'failed', description: 'no room' }]
    poll.settle()
    return [200, { state: 'succeeded' }]
  }
  /** At once, or after some asking. */
  const act = (key: string, operation: string, settle: () => void, answer: [number, Body]): [number, Body] => {
    if (broker.pollsUntilDone === undefined) {
      settle()
      return answer
    }
    polls.set(key, { left: broker.pollsUntilDone, fails: broker.failsInTheEnd && !operation.startsWith('DELETE'), settle })
    return [202, { operation }]
  }
  const ofBinding = (method: string, binding: string, { query, body }: Asked): [number, Body] => {
    const credentials = { host: 'db.example.com', port: 5432, password: `for ${binding}` }
    if (method === 'GET') return broker.bindings.has(binding) ? [200, { credentials }] : [404, {}]
    if (method === 'DELETE' && !broker.bindings.has(binding)) return [410, {}]
    const settle = () => void (method === 'PUT' ? broker.bindings.set(binding, body) : broker.bindings.delete(binding))
    const answer: [number, Body] = method === 'PUT' ? [201, { credentials }] : [200, {}]
    if (query['accepts_incomplete'] === 'true') return act(binding, `${method} ${binding}`, settle, answer)
    settle()
    return answer
  }
  const answer = (asked: Asked): [number, Body] => {
    const { method, path, body } = asked
    const [, , collection, instance = '', what, binding = '', ofIt] = path.split('/')
    if (collection === 'catalog') return [200, { services: broker.services }]
    if (what === 'last_operation') return polled(instance)
    if (ofIt === 'last_operation') return polled(binding)
    const refusal = method === 'PUT' || method === 'PATCH' ? broker.refusals.shift() : undefined
    if (refusal !== undefined) {
      if (refusal.doesIt) (what === undefined ? broker.instances : broker.bindings).set(binding || instance, body)
      return [refusal.status, refusal.body]
    }
    if (what === 'service_bindings') return ofBinding(method, binding, asked)
    if (method === 'DELETE' && !broker.instances.has(instance)) return [410, {}]
    const settle = () => {
      if (method === 'DELETE') broker.instances.delete(instance)
      else broker.instances.set(instance, method === 'PUT' ? body : { ...broker.instances.get(instance), ...body })
    }
    const done = method === 'PUT' ? 201 : 200
    return act(instance, `${method} ${instance}`, settle, [done, { dashboard_url: `https://broker.example.com/${instance}` }])
  }
  const server = createServer(async (request, response) => {
    let text = ''
    for await (const piece of request) text += String(piece)
    const { pathname, searchParams } = new URL(request.url ?? '', 'http://broker')
    const query = Object.fromEntries(searchParams)
    const asked: Asked = {
      method: request.method ?? '',
      path: pathname,
      query,
      body: JSON.parse(text || '{}') as Body,
      headers: request.headers,
    }
    broker.asked.push(asked)
    const [status, body] = answer(asked)
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const broker: FakeBroker = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    ...{ asked: [], instances: new Map(), bindings: new Map(), services, pollsUntilDone: undefined, failsInTheEnd: false, refusals: [] },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
  return broker
}
