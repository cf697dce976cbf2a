/** `kubectl port-forward`: local ports that lead into a pod, over SPDY streams. */
import type { V1Pod, V1Service } from '#api/core/v1/types.gen.ts'
import { nodeSockets, type SocketListener, type TcpConnection } from '#base/sockets.ts'
import { nodeUpgradeClient } from '#base/upgrade-client.ts'
import type { Call } from '#cli/call.ts'
import { CliError, usageError } from '#cli/cli-error.ts'
import { resourcePath } from '#cli/session/resource-types.ts'
import { apiErrorOf } from '#cli/session/rest.ts'
import { podFor } from '#cli/streams/find-pod.ts'
import { SpdyConnection } from '#wire/spdy/connection.ts'

type Forward = { local: number; remote: number }

export async function portForward(call: Call): Promise<void> {
  const { args, flags, host } = call
  const [what, ...specs] = args
  if (what === undefined || specs.length === 0)
    throw usageError('port-forward', 'TYPE/NAME and list of ports are required for port-forward')
  const pod = await podFor(call, what)
  if (pod.status?.phase !== 'Running')
    throw new CliError(`unable to forward port because pod is not running. Current status=${pod.status?.phase}`)
  const forwards = specs.map(parsedPorts)
  const service = /^(?:svc|services?)\//.test(what) ? await serviceOf(call, what) : undefined
  const targets = forwards.map(({ local, remote }) => ({
    local: Number(local === '' ? 0 : local),
    remote: targetPort(pod, service, remote),
  }))
  const connection = await connected(call, pod)
  const listeners: SocketListener[] = []
  const addresses = flags.list('address').length > 0 ? flags.list('address') : ['localhost']
  for (const target of targets) listeners.push(...(await listen(call, addresses, target, connection)))
  if (listeners.length === 0)
    throw new CliError(
      `unable to listen on any of the requested ports: [{${targets.map(({ local, remote }) => `${local} ${remote}`).join('} {')}}]`,
    )
  await new Promise<void>((resolve, reject) => {
    host.interrupted.addEventListener('abort', () => resolve())
    connection.onClose(() => reject(new CliError('lost connection to pod')))
  })
  for (const listener of listeners) await listener.close()
}

function parsedPorts(text: string): { local: string; remote: string } {
  const [first = '', second, ...more] = text.split(':')
  if (more.length > 0) throw new CliError(`invalid port format '${text}'`)
  const [local, remote] = second === undefined ? [/^\d+$/.test(first) ? first : '', first] : [first, second]
  if (local !== '' && !/^\d+$/.test(local))
    throw new CliError(`error parsing local port '${local}': strconv.ParseUint: parsing ${JSON.stringify(local)}: invalid syntax`)
  if (remote === '' || remote === '0') throw new CliError('remote port must be > 0')
  return { local, remote }
}

async function serviceOf({ session }: Call, what: string): Promise<V1Service> {
  const rest = await session.rest
  return rest.json<V1Service>({
    path: resourcePath({ group: '', version: 'v1', plural: 'services' }, await session.namespace(), what.split('/')[1] ?? ''),
  })
}

/** Ports of a service are those of the pods behind it; names are looked up. */
function targetPort({ metadata, spec }: V1Pod, service: V1Service | undefined, text: string): number {
  const named = (name: string) =>
    (spec?.containers ?? []).flatMap(({ ports = [] }) => ports).find((port) => port.name === name)?.containerPort
  if (service !== undefined) {
    const port = (service.spec?.ports ?? []).find((each) => (/^\d+$/.test(text) ? each.port === Number(text) : each.name === text))
    if (port === undefined) throw new CliError(`Service ${service.metadata?.name} does not have a service port ${text}`)
    const { targetPort: target = port.port } = port
    const number = service.spec?.clusterIP === 'None' ? port.port : typeof target === 'number' ? target : named(target)
    if (number === undefined) throw new CliError(`Service ${service.metadata?.name} does not have a named port '${target}'`)
    return number
  }
  if (/^\d+$/.test(text)) return Number(text)
  const number = named(text)
  if (number === undefined) throw new CliError(`Pod '${metadata?.name}' does not have a named port '${text}'`)
  return number
}

async function connected({ session }: Call, pod: V1Pod): Promise<SpdyConnection> {
  const { server, tls, headers } = await session.upgradeTarget()
  const path = resourcePath(
    { group: '', version: 'v1', plural: 'pods' },
    pod.metadata?.namespace ?? '',
    pod.metadata?.name ?? '',
    'portforward',
  )
  const answer = await nodeUpgradeClient(tls).send({
    url: `${server}${path}`,
    method: 'POST',
    headers: { ...headers, connection: 'Upgrade', upgrade: 'SPDY/3.1', 'x-stream-protocol-version': 'portforward.k8s.io' },
  })
  if (answer.upgraded !== undefined) return new SpdyConnection({ ...answer.upgraded, role: 'client' })
  let body = ''
  for await (const piece of answer.body) body += Buffer.from(piece).toString()
  const { message } = apiErrorOf(answer.status, body, { method: 'POST', path })
  throw new CliError(`error upgrading connection: ${message}`)
}

async function listen(
  { host }: Call,
  addresses: readonly string[],
  { local, remote }: Forward,
  connection: SpdyConnection,
): Promise<SocketListener[]> {
  const listeners: SocketListener[] = []
  let requestId = 0
  let port = local
  for (const address of addresses.flatMap((each) => (each === 'localhost' ? ['127.0.0.1', '::1'] : [each]))) {
    try {
      const listener = await nodeSockets.listenTcp({ host: address, port }, (client) => {
        host.write(`Handling connection for ${port}\n`)
        forward(client, connection, remote, requestId++, (text) => host.complain(text))
      })
      port = listener.port
      host.write(`Forwarding from ${address.includes(':') ? `[${address}]` : address}:${port} -> ${remote}\n`)
      listeners.push(listener)
    } catch (error) {
      const isSecond = address === '::1' && listeners.length > 0
      if (!isSecond)
        host.complain(
          `Unable to listen on port ${port}: Listeners failed to create with the following errors: [unable to create listener: Error listen tcp ${address}:${port}: ${(error as Error).message}]\n`,
        )
    }
  }
  return listeners
}

/** An error stream and a data stream for each connection. */
function forward(
  client: TcpConnection,
  connection: SpdyConnection,
  port: number,
  requestId: number,
  complain: (text: string) => void,
): void {
  const headers = (streamtype: string) => ({ streamtype, port: String(port), requestid: String(requestId) })
  const errors = connection.open(headers('error'))
  errors.end()
  errors.onData = (data) => {
    complain(`error forwarding port ${port} to pod: ${Buffer.from(data).toString()}\n`)
    client.destroy()
  }
  const data = connection.open(headers('data'))
  data.onData = (piece) => void client.stream.write(piece)
  data.onEnd = () => void client.stream.end()
  client.stream.on('data', (piece: Buffer) => {
    if (!data.write(piece)) client.stream.pause()
  })
  connection.onDrain(() => client.stream.resume())
  client.stream.on('end', () => data.end())
  client.stream.on('error', () => data.reset())
}
