/** Whether the server behind an APIService can be used, and if not, why. */
import { Service } from '#api/core/v1/kinds.gen.ts'
import { quoted } from '#api/meta/check.ts'
import type { Evaluation } from '#apiserver/aggregation/availability.ts'
import { discoveryPath, type RemoteApi } from '#apiserver/aggregation/remote-api.ts'
import { type RemoteConnections, userHeaders } from '#apiserver/aggregation/remote-connections.ts'
import type { ClusterView } from '#apiserver/cluster-view/cluster-view.ts'
import type { ServiceEndpoints } from '#apiserver/webhooks/service-endpoints.ts'
import type { Clock } from '#base/clock.ts'

export type AvailabilityServices = {
  cluster: ClusterView
  endpoints: Pick<ServiceEndpoints, 'readyOf' | 'areThere'>
  connections: RemoteConnections
  clock: Clock
}

/** It must be able to answer always, whoever may ask. */
export const aggregatorUser = { name: 'system:kube-aggregator', groups: ['system:masters'], extra: {} }

const answerLimitMs = 5000
/** One pod of several that is down does not make the API unavailable. */
const attempts = 5

export async function validateRemoteApi(api: RemoteApi, services: AvailabilityServices): Promise<Evaluation> {
  const { namespace, name, port } = api.service
  if (services.connections.isInProcess(api)) return { status: 'True', reason: 'Passed', message: 'all checks passed' }
  const no = (reason: string, message: string): Evaluation => ({ status: 'False', reason, message })
  const service = services.cluster.get(Service, namespace, name)
  // Servers in this process come a moment after the API they answer is found.
  if (service === undefined) return { ...no('ServiceNotFound', `service/${name} in ${quoted(namespace)} is not present`), isPassing: true }
  const { type = 'ClusterIP', ports = [] } = service.spec ?? {}
  if (type === 'ClusterIP') {
    const found = ports.find((each) => each.port === port)
    if (found === undefined) return no('ServicePortError', `service/${name} in ${quoted(namespace)} is not listening on port ${port}`)
    if (!(await services.endpoints.areThere(namespace, name))) {
      return no('EndpointsNotFound', `cannot find endpointslices for service/${name} in ${quoted(namespace)}`)
    }
    const portName = found.name ?? ''
    if ((await services.endpoints.readyOf(namespace, name, portName)).length === 0) {
      const message = `endpointslices for service/${name} in ${quoted(namespace)} have no addresses with port name ${quoted(portName)}`
      return no('MissingEndpoints', message)
    }
  }
  const trouble = (await answerTrouble(api, services)) && (await anyAnswers(api, services))
  if (trouble === undefined) return { status: 'True', reason: 'Passed', message: 'all checks passed' }
  return { ...no('FailedDiscoveryCheck', trouble), isPassing: true }
}

async function anyAnswers(api: RemoteApi, services: AvailabilityServices): Promise<string | undefined> {
  const troubles = await Promise.all(Array.from({ length: attempts - 1 }, () => answerTrouble(api, services)))
  return troubles.includes(undefined) ? undefined : troubles.at(-1)
}

/** Undefined where all is well. */
async function answerTrouble(api: RemoteApi, { connections, clock }: AvailabilityServices): Promise<string | undefined> {
  const abort = new AbortController()
  using _ = clock.after(answerLimitMs, () => abort.abort(new Error('context deadline exceeded')))
  let url = ''
  try {
    const backend = await connections.backendOf(api)
    const target = discoveryPath(api)
    url = `https://${backend.host}${target}`
    const headers = { ...userHeaders(aggregatorUser), host: backend.host, accept: 'application/json' }
    const { status, body } = await backend.send({ method: 'GET', target, headers, signal: abort.signal }).catch((error: Error) => {
      throw new Error(`Get ${quoted(url)}: ${abort.signal.aborted ? 'context deadline exceeded' : error.message}`)
    })
    for await (const _ of body) if (abort.signal.aborted) break
    if (status >= 200 && status < 300) return undefined
    return `failing or missing response from ${url}: bad status from ${url}: ${status}`
  } catch (error) {
    const { message } = error as Error
    return url === '' ? message : `failing or missing response from ${url}: ${message}`
  }
}
