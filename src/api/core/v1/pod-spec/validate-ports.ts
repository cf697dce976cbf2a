/** Judges the ports of containers. */
import type { V1Container, V1ContainerPort } from '#api/core/v1/types.gen.ts'
import type { Check } from '#api/meta/check.ts'
import { portName, portNum } from '#api/meta/formats.ts'

const portProtocols = ['SCTP', 'TCP', 'UDP'] as const

const isPortProtocol = (protocol: string): boolean => protocol === 'TCP' || protocol === 'UDP' || protocol === 'SCTP'

export function validateProtocol(protocol: string | undefined, check: Check): void {
  if (!protocol) check.at('protocol').required()
  else if (!isPortProtocol(protocol)) check.at('protocol').notSupported(portProtocols, protocol)
}

export function validatePortNumber(check: Check<number>): void {
  const port = check.value
  for (const message of portNum(port)) check.invalid(message)
}

/** A number, or the name of a container's port. */
export function validatePortNumberOrName(check: Check<number | string | undefined>): void {
  const port = check.value
  if (typeof port === 'string') for (const message of portName(port)) check.invalid(message)
  else validatePortNumber(check.with(port ?? 0))
}

/** `check` stands at the list. */
export function validateContainerPorts(check: Check<readonly V1ContainerPort[]>): void {
  const ports = check.value
  const names = new Set<string>()
  for (let index = 0; index < ports.length; index++) {
    const port = ports[index] as V1ContainerPort
    const at = check.at(index)
    if (port.name) validateName(port.name, names, at)
    if (port.containerPort) validatePortNumber(at.at('containerPort'))
    else at.at('containerPort').required()
    if (port.hostPort) validatePortNumber(at.at('hostPort').present)
    validateProtocol(port.protocol, at)
  }
}

function validateName(name: string, names: Set<string>, check: Check): void {
  const messages = portName(name)
  if (messages.length > 0) for (const message of messages) check.at('name').invalid(message, name)
  else if (names.has(name)) check.at('name').duplicate(name)
  else names.add(name)
}

/** Two containers cannot have the same port of the host; `seen` carries what other lists use. */
export function validateHostPorts(check: Check<readonly V1Container[]>, seen = new Set<string>()): void {
  const containers = check.value
  for (let index = 0; index < containers.length; index++) {
    const ports = containers[index]?.ports
    if (ports === undefined) continue
    for (let place = 0; place < ports.length; place++) {
      const port = ports[place]
      if (!port?.hostPort) continue
      const taken = `${port.protocol ?? ''}/${port.hostIP ?? ''}/${port.hostPort}`
      if (seen.has(taken)) check.at(index).at('ports').at(place).at('hostPort').duplicate(taken)
      else seen.add(taken)
    }
  }
}
