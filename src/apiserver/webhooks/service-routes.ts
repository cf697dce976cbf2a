/** Where a request to a service goes: straight to one of its pods, so that no service proxy has to run and nobody needs a route to cluster IPs. */
import { Service } from '#api/core/v1/kinds.gen.ts'
import { quoted } from '#api/meta/check.ts'
import { notFound, serviceUnavailable } from '#api/meta/status-error.ts'
import type { ClusterView } from '#apiserver/cluster-view/cluster-view.ts'
import { joinedHostPort } from '#apiserver/node-connections/node-connections.ts'
import { type ServiceEndpoint, ServiceEndpoints } from '#apiserver/webhooks/service-endpoints.ts'
import type { Random } from '#base/random.ts'

export type ServiceReference = { readonly namespace: string; readonly name: string; readonly port: number }

export type ServiceRoutesOptions = {
  /** Asked for when there is something to look up: the server may still be in the making. */
  cluster(): ClusterView
  random: Random
  /** `--enable-aggregator-routing`: endpoints only, so that a service that is but a name for another host is refused. */
  endpointsOnly: boolean
  /** The node exists in a simulation alone: nothing reaches its pods. */
  isSimulated(nodeName: string): boolean
  /** `host:port` of this very server, for the service that stands for it. */
  ownAddress(): string
}

const podTypes = ['ClusterIP', 'LoadBalancer', 'NodePort']

export class ServiceRoutes implements Disposable {
  readonly #options: ServiceRoutesOptions
  readonly endpoints: ServiceEndpoints

  constructor(options: ServiceRoutesOptions) {
    this.#options = options
    this.endpoints = new ServiceEndpoints(options.cluster)
  }

  /** `10.0.0.7:8443`, any of the pods that are ready. Throws why there is none. */
  async hostOf({ namespace, name, port }: ServiceReference): Promise<string> {
    const { endpointsOnly, ownAddress } = this.#options
    if (namespace === 'default' && name === 'kubernetes' && port === 443) return ownAddress()
    const service = this.#options.cluster().get(Service, namespace, name)
    if (service === undefined) throw notFound({ group: '', resource: 'service' }, name)
    const { type = 'ClusterIP', ports = [], externalName = '', ipFamilies = [] } = service.spec ?? {}
    if (type === 'ExternalName' && !endpointsOnly) return joinedHostPort(externalName, String(port))
    if (!podTypes.includes(type)) throw new Error(`unsupported service type ${quoted(type)}`)
    const found = ports.find((each) => each.port === port)
    if (found === undefined) throw serviceUnavailable(`no service port ${port} found for service ${quoted(name)}`)
    const ready = await this.endpoints.readyOf(namespace, name, found.name ?? '')
    const { ip, port: targetPort } = this.#chosen(ready, name, ipFamilies[0])
    return joinedHostPort(ip, String(targetPort))
  }

  [Symbol.dispose](): void {
    this.endpoints[Symbol.dispose]()
  }

  #chosen(ready: readonly ServiceEndpoint[], service: string, family: string | undefined): ServiceEndpoint {
    const { isSimulated, random } = this.#options
    const reachable = ready.filter(({ nodeName }) => nodeName === '' || !isSimulated(nodeName))
    const preferred = reachable.filter((each) => each.family === family)
    const candidates = preferred.length > 0 ? preferred : reachable
    const chosen = candidates[random.int(candidates.length || 1)]
    if (chosen !== undefined) return chosen
    const [simulated] = ready
    if (simulated === undefined) throw serviceUnavailable(`no endpoints available for service ${quoted(service)}`)
    const { podName, nodeName } = simulated
    throw serviceUnavailable(
      `no endpoints available for service ${quoted(service)} that can be reached: pod ${quoted(podName)} is on the simulated node ${quoted(nodeName)}, and simulated pods have no network`,
    )
  }
}
