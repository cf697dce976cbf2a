/** Variables that tell a container where services are. */
import type { V1Service } from '#api/core/v1/types.gen.ts'

/** Those of the pod's namespace where it wants them, and the API's own always. */
export function serviceVariables(services: Iterable<V1Service>, namespace: string, wantsAll: boolean): Map<string, string> {
  const variables = new Map<string, string>()
  const chosen = new Map<string, V1Service>()
  for (const service of services) {
    const { namespace: own = '', name = '' } = service.metadata
    const { clusterIP = '' } = service.spec ?? {}
    if (clusterIP === '' || clusterIP === 'None') continue
    const isApi = own === 'default' && name === 'kubernetes'
    if (isApi ? !chosen.has(name) : own === namespace && wantsAll) chosen.set(name, service)
  }
  for (const service of chosen.values()) for (const [name, value] of variablesOf(service)) variables.set(name, value)
  return variables
}

function* variablesOf({ metadata, spec }: V1Service): Generator<[string, string]> {
  const prefix = variableName(metadata.name ?? '')
  const address = spec?.clusterIP ?? ''
  const ports = spec?.ports ?? []
  const [first] = ports
  yield [`${prefix}_SERVICE_HOST`, address]
  if (first === undefined) return
  yield [`${prefix}_SERVICE_PORT`, String(first.port)]
  for (const { name = '', port } of ports) if (name !== '') yield [`${prefix}_SERVICE_PORT_${variableName(name)}`, String(port)]
  for (const { port, protocol = 'TCP' } of ports) {
    const url = `${protocol.toLowerCase()}://${address.includes(':') ? `[${address}]` : address}:${port}`
    const portPrefix = `${prefix}_PORT_${port}_${protocol.toUpperCase()}`
    if (port === first.port && protocol === (first.protocol ?? 'TCP')) yield [`${prefix}_PORT`, url]
    yield [portPrefix, url]
    yield [`${portPrefix}_PROTO`, protocol.toLowerCase()]
    yield [`${portPrefix}_PORT`, String(port)]
    yield [`${portPrefix}_ADDR`, address]
  }
}

const variableName = (name: string): string => name.replaceAll('-', '_').toUpperCase()
