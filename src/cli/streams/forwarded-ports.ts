/** Which local port leads to which port of a pod: `8080:80`, `:http`, `53`. */
import type { V1Pod, V1Service } from '#api/core/v1/types.gen.ts'
import { CliError } from '#cli/cli-error.ts'

export type Forward = { local: number; remote: number }

type Words = { local: string; remote: string }

/** Names and ports of services as those of the pod. Throws for what has no such port, or has it for UDP alone. */
export function translatedPorts(specs: readonly string[], pod: V1Pod, service?: V1Service): Words[] {
  const words = specs.map(wordsOf)
  for (const { remote } of words) checkProtocol(remote, pod, service)
  return words.map(({ local, remote }) => {
    if (service !== undefined) {
      const port = numberOf(remote) ?? servicePort(service, remote)
      return { local: local === remote ? String(port) : local, remote: String(targetOf(service, pod, port)) }
    }
    if (remote === '') throw new CliError('remote port cannot be empty')
    const number = numberOf(remote) === undefined ? String(containerPort(pod, remote)) : remote
    return { local: local === remote ? number : local, remote: number }
  })
}

export function parsedPort({ local, remote }: Words): Forward {
  const ports = { local: parsed('local', local || '0'), remote: parsed('remote', remote) }
  if (ports.remote === 0) throw new CliError('remote port must be > 0')
  return ports
}

/** One word is both; more than two are read as the first. */
function wordsOf(spec: string): Words {
  const [first = '', second, ...more] = spec.split(':')
  return second === undefined || more.length > 0 ? { local: first, remote: first } : { local: first, remote: second }
}

const numberOf = (text: string): number | undefined => (/^[+-]?\d+$/.test(text) ? Number(text) : undefined)

function checkProtocol(remote: string, pod: V1Pod, service: V1Service | undefined): void {
  const ports =
    service === undefined
      ? (pod.spec?.containers ?? []).flatMap((each) => (each.ports ?? []).map((port) => ({ ...port, port: port.containerPort })))
      : (service.spec?.ports ?? [])
  const number = numberOf(remote) ?? (service === undefined ? containerPort(pod, remote) : servicePort(service, remote))
  const protocols = ports.filter(({ port }) => port === number).map(({ protocol }) => protocol)
  if (protocols.includes('UDP') && !protocols.includes('TCP')) throw new CliError(`UDP protocol is not supported for ${remote}`)
}

function containerPort({ metadata, spec }: V1Pod, name: string): number {
  const found = (spec?.containers ?? []).flatMap(({ ports = [] }) => ports).find((port) => port.name === name)
  if (found === undefined) throw new CliError(`Pod '${metadata?.name}' does not have a named port '${name}'`)
  return found.containerPort
}

function servicePort({ metadata, spec }: V1Service, name: string): number {
  const found = (spec?.ports ?? []).find((port) => (port.name ?? '') === name)
  if (found === undefined) throw new CliError(`Service '${metadata?.name}' does not have a named port '${name}'`)
  return found.port
}

function targetOf({ metadata, spec }: V1Service, pod: V1Pod, number: number): number {
  const port = (spec?.ports ?? []).find((each) => each.port === number)
  if (port === undefined) throw new CliError(`Service ${metadata?.name} does not have a service port ${number}`)
  if (spec?.clusterIP === 'None') return number
  const { targetPort = port.port } = port
  return typeof targetPort === 'number' ? targetPort || port.port : containerPort(pod, targetPort)
}

const largestPort = 65535

function parsed(side: 'local' | 'remote', text: string): number {
  const problem = !/^\d+$/.test(text) ? 'invalid syntax' : Number(text) > largestPort ? 'value out of range' : undefined
  if (problem !== undefined)
    throw new CliError(`error parsing ${side} port '${text}': strconv.ParseUint: parsing ${JSON.stringify(text)}: ${problem}`)
  return Number(text)
}
