/** Validates the ports of containers. */
import type { V1Container, V1ContainerPort } from '#api/core/v1/types.gen.ts'
import type { Check } from '#api/meta/check.ts'
import { portName, portNum } from '#api/meta/formats.ts'

const portProtocols = ['SCTP', 'TCP', 'UDP'] as const

const isPortProtocol = (protocol: string): boolean => protocol === 'TCP' || protocol === 'UDP' || protocol === 'SCTP'

export function validateProtocol(check: Check<string | undefined>): void {
  const protocol = check.value
  if (!protocol) check.required()
  else if (!isPortProtocol(protocol)) check.notSupported(portProtocols)
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
    if (port.name) validateName(at.at('name').present, names)
    if (port.containerPort) validatePortNumber(at.at('containerPort'))
    else at.at('containerPort').required()
    if (port.hostPort) validatePortNumber(at.at('hostPort').present)
    validateProtocol(at.at('protocol'))
  }
}

function validateName(check: Check<string>, names: Set<string>): void {
  const name = check.value
  const messages = portName(name)
  if (messages.length > 0) for (const message of messages) check.invalid(message)
  else if (names.has(name)) check.duplicate()
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
