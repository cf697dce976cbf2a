/** Logs, exec, attach, port-forward: what the server itself has to say, and then what the kubelet of the pod's node answers. */

import type { V1Pod } from '#api/core/v1/types.gen.ts'
import { Check } from '#api/meta/check.ts'
import { genericServerResponse } from '#api/meta/server-response.ts'
import { badRequest, forbidden, internalError, invalid, unknownFailure } from '#api/meta/status-error.ts'
import type { KubernetesObject } from '#api/resource.ts'
import type { Authorizer } from '#apiserver/authz/authorizer.ts'
import type { RequestContext } from '#apiserver/http/context.ts'
import { attributesOf } from '#apiserver/http/handler.ts'
import { wholeNumber } from '#apiserver/http/query-options.ts'
import { isTrue } from '#apiserver/http/request-info.ts'
import type { ServedResource } from '#apiserver/http/served-resource.ts'
import { clientSignal } from '#apiserver/node-connections/backend.ts'
import { forward } from '#apiserver/node-connections/forward.ts'
import type { NodeConnections } from '#apiserver/node-connections/node-connections.ts'
import { sendPieces } from '#apiserver/node-connections/send-answer.ts'
import { translated } from '#apiserver/node-connections/translate-streams.ts'
import type { TypedRegistry } from '#apiserver/registry/typed-registry.ts'
import { type Admission, admit } from '#apiserver/subresources/admit.ts'
import { defined } from '#base/defined.ts'
import { omitEmpty } from '#base/omit-empty.ts'

type Pods = () => TypedRegistry<V1Pod>

/** A pod that is not bound has no logs, which is no error. */
export async function podLog(
  context: RequestContext,
  { nodes, splitsStreams, pods }: { nodes: NodeConnections; splitsStreams: boolean; pods: Pods },
): Promise<void> {
  const { name, namespace } = context.info
  validateLogOptions(context, name, splitsStreams)
  const pod = (await pods().get(namespace, name)).object
  const container = containerOf(pod, context.query.get('container') ?? '')
  if (!pod.spec.nodeName) {
    context.exchange.respond(204, {})
    return
  }
  const node = await nodes.connectionTo(pod.spec.nodeName)
  const backend = isSet(context.query, 'insecureSkipTLSVerifyBackend') ? node.unverified : node.backend
  const target = `/containerLogs/${namespace}/${name}/${container}?${logQuery(context.query, splitsStreams)}`
  const answer = await backend.send({ method: 'GET', target, headers: {}, signal: clientSignal(context) }).catch((error: Error) => {
    throw unknownFailure(`Get "${backend.scheme}://${backend.host}${target}": ${error.message}`)
  })
  if (answer.status < 200 || answer.status > 206) throw logRefusal(answer.status, await shortText(answer.body), name)
  await sendPieces(context.exchange, 200, { 'content-type': 'text/plain' }, answer.body)
}

const passedFlags = ['follow', 'previous', 'timestamps']
const passedNumbers = ['sinceSeconds', 'sinceTime', 'tailLines', 'limitBytes']

function logQuery(query: URLSearchParams, splitsStreams: boolean): string {
  const passed = new URLSearchParams()
  for (const name of passedFlags) if (isSet(query, name)) passed.set(name, 'true')
  for (const name of passedNumbers) if (query.get(name)) passed.set(name, query.get(name) ?? '')
  if (splitsStreams) passed.set('stream', query.get('stream') || 'All')
  passed.sort()
  return passed.toString()
}

function logRefusal(status: number, text: string, name: string): Error {
  if (status === 500) return internalError(text)
  if (status === 400) return badRequest(text)
  return genericServerResponse({ code: status, verb: '', resource: { group: '', resource: 'pods/log' }, name, message: text })
}

async function shortText(body: AsyncIterable<Uint8Array>): Promise<string> {
  const pieces: Uint8Array[] = []
  let size = 0
  for await (const piece of body) {
    pieces.push(piece)
    size += piece.length
    if (size > 50_000) break
  }
  return Buffer.concat(pieces).toString('utf8', 0, 50_000)
}

/**
 * A stream over a WebSocket is asked for with GET; what it does is the same, and who may not create it may not have it by that way.
 * `authorizer` is undefined where that is not looked at.
 */
export async function podStream(
  context: RequestContext,
  resource: ServedResource,
  { authorizer, admission, nodes, pods }: { authorizer: Authorizer | undefined; admission: Admission; nodes: NodeConnections; pods: Pods },
): Promise<void> {
  const { name, namespace, subresource } = context.info
  if (context.info.verb !== 'create' && authorizer !== undefined) {
    const { decision, reason, error } = await authorizer.authorize({
      ...attributesOf(context.user, context.info, context.query),
      verb: 'create',
    })
    if (error !== undefined && decision !== 'allow') throw internalError(error)
    if (decision !== 'allow') throw forbidden({ group: '', resource: 'pods' }, name, reason)
  }
  const kind = optionKinds[subresource] ?? ''
  const asked = { kind, apiVersion: 'v1', metadata: {}, ...connectOptions(subresource, context.query) } as KubernetesObject
  const { definition } = resource.registry
  await admit(admission, context, {
    operation: 'CONNECT',
    definition,
    kind: { group: '', version: 'v1', kind },
    name,
    object: asked,
    isDryRun: false,
  })
  const pod = (await pods().get(namespace, name)).object
  const isPortForward = subresource === 'portforward'
  const container = isPortForward ? '' : containerOf(pod, context.query.get('container') ?? '')
  if (!pod.spec.nodeName) throw badRequest(`pod ${name} does not have a host assigned`)
  const { backend, takesWebSockets } = await nodes.connectionTo(pod.spec.nodeName)
  const path = isPortForward ? `/portForward/${namespace}/${name}` : `/${subresource}/${namespace}/${name}/${container}`
  const destination = { backend, path, query: streamQuery(context.query, subresource), mustUpgrade: true }
  if (!takesWebSockets && (await translated(context, destination))) return
  await forward(context, destination)
}

/** What admission is shown of a connection: the options of its query. */
const optionKinds: Readonly<Record<string, string>> = {
  exec: 'PodExecOptions',
  attach: 'PodAttachOptions',
  portforward: 'PodPortForwardOptions',
}

function connectOptions(subresource: string, query: URLSearchParams): object {
  if (subresource === 'portforward') {
    const ports = query.getAll('ports').flatMap((text) => text.split(',').map(Number))
    return ports.length === 0 ? {} : { ports }
  }
  const flags = Object.fromEntries(streamFlags.filter(([name]) => isSet(query, name)).map(([name]) => [name, true]))
  const container = query.get('container')
  return {
    ...flags,
    ...omitEmpty({ container }),
    ...defined({ command: subresource === 'exec' ? (query.has('command') ? query.getAll('command') : null) : undefined }),
  }
}

/** Kubelets have their own names for these. */
const streamFlags: readonly (readonly [string, string])[] = [
  ['stdin', 'input'],
  ['stdout', 'output'],
  ['stderr', 'error'],
  ['tty', 'tty'],
]

function streamQuery(query: URLSearchParams, subresource: string): string {
  const passed = new URLSearchParams()
  if (subresource === 'portforward') {
    const ports = query.getAll('ports')
    if (ports.length > 0) passed.set('port', ports.join(','))
    return passed.toString()
  }
  if (subresource === 'exec') for (const command of query.getAll('command')) passed.append('command', command)
  for (const [option, flag] of streamFlags) if (isSet(query, option)) passed.set(flag, '1')
  return passed.toString()
}

function isSet(query: URLSearchParams, name: string): boolean {
  return query.get(name) !== '' && isTrue(query.get(name))
}

/** The container the request is about; a pod with several wants to be told. */
function containerOf(pod: V1Pod, asked: string): string {
  const { containers, initContainers = [], ephemeralContainers = [] } = pod.spec
  const names = containers.map(({ name }) => name)
  if (asked === '') {
    if (names.length === 1) return names[0] ?? ''
    const choice = `[${names.join(' ')}]`
    const withInit =
      initContainers.length > 0 ? ` or one of the init containers: [${initContainers.map(({ name }) => name).join(' ')}]` : ''
    throw badRequest(`a container name must be specified for pod ${pod.metadata.name}, choose one of: ${choice}${withInit}`)
  }
  if (![...names, ...initContainers.map(({ name }) => name), ...ephemeralContainers.map(({ name }) => name)].includes(asked)) {
    throw badRequest(`container ${asked} is not valid for pod ${pod.metadata.name}`)
  }
  return asked
}

function validateLogOptions({ query }: RequestContext, name: string, splitsStreams: boolean): void {
  const number = (key: string) => (query.get(key) === null ? undefined : wholeNumber(query.get(key) ?? ''))
  const [tailLines, limitBytes, sinceSeconds] = [number('tailLines'), number('limitBytes'), number('sinceSeconds')]
  const check = new Check({ tailLines, limitBytes, sinceSeconds, stream: query.get('stream') })
  if (tailLines !== undefined && tailLines < 0) check.at('tailLines').invalid('must be greater than or equal to 0')
  if (limitBytes !== undefined && limitBytes < 1) check.at('limitBytes').invalid('must be greater than 0')
  if (sinceSeconds !== undefined && query.has('sinceTime')) check.forbidden('at most one of `sinceTime` or `sinceSeconds` may be specified')
  else if (sinceSeconds !== undefined && sinceSeconds < 1) check.at('sinceSeconds').invalid('must be greater than 0')
  const stream = query.get('stream')
  if (stream !== null && !splitsStreams) check.at('stream').forbidden('may not be specified')
  else if (stream !== null && !logStreams.includes(stream)) check.at('stream').notSupported(logStreams)
  if (splitsStreams && stream !== null && stream !== 'All' && tailLines !== undefined) {
    check.forbidden('`tailLines` and specific `stream` are mutually exclusive for now')
  }
  if (check.failed) throw invalid({ group: '', kind: 'PodLogOptions' }, name, check.errors)
}

const logStreams: readonly string[] = ['All', 'Stderr', 'Stdout']
