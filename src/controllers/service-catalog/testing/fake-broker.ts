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
  /** The next requests to provision are answered with these instead. */
  readonly refusals: { status: number; body: Body }[]
}

export async function startFakeBroker(services: object[]): Promise<FakeBroker> {
  const polls = new Map<string, { left: number; settle(): void }>()
  const answer = ({ method, path, body }: Asked): [number, Body] => {
    const [, , collection, instance = '', what, binding = ''] = path.split('/')
    if (collection === 'catalog') return [200, { services: broker.services }]
    if (what === 'last_operation') {
      const poll = polls.get(instance)
      if (poll === undefined) return [410, {}]
      if (poll.left-- > 0) return [200, { state: 'in progress' }]
      polls.delete(instance)
      poll.settle()
      return [200, { state: 'succeeded' }]
    }
    if (what === 'service_bindings') {
      if (method === 'DELETE') return broker.bindings.delete(binding) ? [200, {}] : [410, {}]
      broker.bindings.set(binding, body)
      return [201, { credentials: { host: 'db.example.com', port: 5432, password: `for ${binding}` } }]
    }
    const refusal = method === 'PUT' ? broker.refusals.shift() : undefined
    if (refusal !== undefined) return [refusal.status, refusal.body]
    const act = () => void (method === 'PUT' ? broker.instances.set(instance, body) : broker.instances.delete(instance))
    if (method === 'DELETE' && !broker.instances.has(instance)) return [410, {}]
    if (broker.pollsUntilDone === undefined) {
      act()
      return [method === 'PUT' ? 201 : 200, { dashboard_url: `https://broker.example.com/${instance}` }]
    }
    polls.set(instance, { left: broker.pollsUntilDone, settle: act })
    return [202, { operation: `${method} ${instance}` }]
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
    ...{ asked: [], instances: new Map(), bindings: new Map(), services, pollsUntilDone: undefined, refusals: [] },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
  return broker
}
