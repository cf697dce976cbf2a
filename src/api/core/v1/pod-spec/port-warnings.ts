/** Ports that more than one container claims. */
import { eachContainer } from '#api/core/v1/pod-spec/all-containers.ts'
import type { V1ContainerPort, V1PodSpec } from '#api/core/v1/types.gen.ts'
import { quoted } from '#api/meta/check.ts'

type PlacedPort = { port: V1ContainerPort; at: string }

/** `path` is that of the spec. */
export function portWarnings(spec: V1PodSpec, path: string): string[] {
  let ports: PlacedPort[] | undefined
  eachContainer(spec, (container, list, index) => {
    if (!container.ports?.length) return
    ports ??= []
    for (const [place, port] of container.ports.entries()) ports.push({ port, at: `${path}.${list}[${index}].ports[${place}]` })
  })
  return ports === undefined ? [] : [...numberWarnings(ports), ...nameWarnings(ports)]
}

/** Each port against those before it is a comparison; past so many the list is no pod's, and the rest is not warned of. */
const maxComparisons = 100_000

function numberWarnings(ports: readonly PlacedPort[]): string[] {
  const warnings: string[] = []
  const earlier = new Map<string, PlacedPort[]>()
  let comparisons = 0
  for (const placed of ports) {
    const { port, at } = placed
    if (port.hostIP && !port.hostPort) warnings.push(`${at}: hostIP set without hostPort: ${goStruct(port)}`)
    const key = `${port.containerPort ?? 0}/${port.protocol ?? ''}`
    const others = earlier.get(key)
    if (others === undefined) {
      earlier.set(key, [placed])
      continue
    }
    comparisons += others.length
    if (comparisons > maxComparisons) break
    for (const other of others) {
      const relation = conflict(port, other.port)
      if (relation !== undefined) warnings.push(`${at}: ${relation} port definition with ${other.at}`)
    }
    others.push(placed)
  }
  return warnings
}

function conflict(one: V1ContainerPort, other: V1ContainerPort): string | undefined {
  const { hostIP: ip = '', hostPort: port = 0 } = one
  const { hostIP: otherIp = '', hostPort: otherPort = 0 } = other
  if (ip === otherIp && port === otherPort) return 'duplicate'
  if (port === 0 || otherPort === 0) return 'overlapping'
  return port === otherPort && (ip === '') !== (otherIp === '') ? 'dangerously ambiguous' : undefined
}

/** As Go prints a struct. */
function goStruct({ name = '', hostPort = 0, containerPort = 0, protocol = '', hostIP = '' }: V1ContainerPort): string {
  return `{Name:${name} HostPort:${hostPort} ContainerPort:${containerPort} Protocol:${protocol} HostIP:${hostIP}}`
}

function nameWarnings(ports: readonly PlacedPort[]): string[] {
  const warnings: string[] = []
  const first = new Map<string, string>()
  for (const { port, at } of ports) {
    if (!port.name) continue
    const other = first.get(port.name)
    if (other === undefined) first.set(port.name, at)
    else {
      warnings.push(
        `${at}: duplicate port name ${quoted(port.name)} with ${other}, services and probes that select ports by name will use ${other}`,
      )
    }
  }
  return warnings
}
