import type {
  V1Container,
  V1ContainerPort,
  V1ContainerState,
  V1ContainerStatus,
  V1EnvVar,
  V1Pod,
  V1Probe,
  V1ResourceRequirements,
} from '#api/core/v1/types.gen.ts'
import { parseQuantity } from '#api/meta/quantity.ts'
import { type Description, orNone, rfc1123, trueOrFalse } from './description.ts'

export type ContainersOptions = {
  title: string
  containers: readonly V1Container[]
  statuses?: readonly V1ContainerStatus[]
  pod?: V1Pod
  space?: string
}

export function describeContainers(out: Description, { title, containers, statuses = [], pod, space = '' }: ContainersOptions): void {
  out.write(0, `${space}${title}:${containers.length === 0 ? ' <none>' : ''}\n`)
  for (const container of containers) {
    const status = statuses.find(({ name }) => name === container.name)
    out.write(1, `${space === '' ? '' : ' '}${container.name}:\n`)
    describeBasics(out, container, status)
    describeCommand(out, 'Command', container.command)
    describeCommand(out, 'Args', container.args)
    if (status !== undefined) describeStatus(out, status)
    describeResources(out, container.resources, 2)
    for (const [name, probe] of [
      ['Liveness', container.livenessProbe],
      ['Readiness', container.readinessProbe],
      ['Startup', container.startupProbe],
    ] as const)
      if (probe !== undefined) out.field(2, name, probeText(probe))
    describeEnvironment(out, container, pod)
    describeMounts(out, container)
  }
}

function describeBasics(
  out: Description,
  { image = '', ports = [], securityContext }: V1Container,
  status: V1ContainerStatus | undefined,
): void {
  if (status !== undefined) out.field(2, 'Container ID', status.containerID ?? '')
  out.field(2, 'Image', image)
  if (status !== undefined) out.field(2, 'Image ID', status.imageID)
  const show = (name: string, number: (port: V1ContainerPort) => number) => {
    const text = ports.map((port) => `${number(port)}/${port.protocol ?? 'TCP'}${port.name ? ` (${port.name})` : ''}`).join(', ')
    out.field(2, text.includes(',') ? `${name}s` : name, orNone(text))
  }
  show('Port', ({ containerPort }) => containerPort)
  show('Host Port', ({ hostPort = 0 }) => hostPort)
  const profile = securityContext?.seccompProfile
  if (profile === undefined) return
  out.field(2, 'SeccompProfile', profile.type)
  if (profile.type === 'Localhost') out.field(3, 'LocalhostProfile', profile.localhostProfile)
}

function describeCommand(out: Description, title: string, words: readonly string[] | undefined): void {
  if (words === undefined || words.length === 0) return
  out.write(2, `${title}:\n`)
  for (const word of words) for (const line of word.split('\n')) out.write(3, `${line}\n`)
}

function describeStatus(out: Description, { state, lastState, ready, restartCount }: V1ContainerStatus): void {
  describeState(out, 'State', state ?? {})
  if (lastState?.terminated !== undefined) describeState(out, 'Last State', lastState)
  out.field(2, 'Ready', trueOrFalse(ready))
  out.field(2, 'Restart Count', restartCount)
}

function describeState(out: Description, title: string, { running, waiting, terminated }: V1ContainerState): void {
  if (running !== undefined) {
    out.field(2, title, 'Running')
    out.field(3, 'Started', rfc1123(running.startedAt))
  } else if (terminated !== undefined && waiting === undefined) {
    out.field(2, title, 'Terminated')
    out.optional(3, 'Reason', terminated.reason)
    out.optional(3, 'Message', terminated.message)
    out.field(3, 'Exit Code', terminated.exitCode)
    if (terminated.signal) out.field(3, 'Signal', terminated.signal)
    out.field(3, 'Started', rfc1123(terminated.startedAt))
    out.field(3, 'Finished', rfc1123(terminated.finishedAt))
  } else {
    out.field(2, title, 'Waiting')
    out.optional(3, 'Reason', waiting?.reason)
  }
}

export function describeResources(out: Description, resources: V1ResourceRequirements | undefined, level: number): void {
  for (const [title, amounts = {}] of [
    ['Limits', resources?.limits],
    ['Requests', resources?.requests],
  ] as const) {
    const names = Object.keys(amounts).sort()
    if (names.length > 0) out.write(level, `${title}:\n`)
    for (const name of names) out.field(level + 1, name, amounts[name])
  }
}

function probeText(probe: V1Probe): string {
  const { exec, httpGet, tcpSocket, grpc } = probe
  const attributes = `delay=${probe.initialDelaySeconds ?? 0}s timeout=${probe.timeoutSeconds ?? 0}s period=${probe.periodSeconds ?? 0}s #success=${probe.successThreshold ?? 0} #failure=${probe.failureThreshold ?? 0}`
  if (exec !== undefined) return `exec [${(exec.command ?? []).join(' ')}] ${attributes}`
  if (httpGet !== undefined)
    return `http-get ${(httpGet.scheme ?? '').toLowerCase()}://${httpGet.host ?? ''}:${httpGet.port}${httpGet.path ?? ''} ${attributes}`
  if (tcpSocket !== undefined) return `tcp-socket ${tcpSocket.host ?? ''}:${tcpSocket.port} ${attributes}`
  if (grpc !== undefined) return `grpc <pod>:${grpc.port} ${grpc.service ?? ''} ${attributes}`
  return `unknown ${attributes}`
}

function describeEnvironment(out: Description, container: V1Container, pod: V1Pod | undefined): void {
  const { env = [], envFrom = [] } = container
  if (envFrom.length > 0) {
    out.write(2, 'Environment Variables from:\n')
    for (const { configMapRef, secretRef, prefix } of envFrom) {
      const reference = configMapRef ?? secretRef
      const from = configMapRef === undefined ? 'Secret' : 'ConfigMap'
      out.write(
        3,
        `${reference?.name ?? ''}\t${from}${prefix ? ` with prefix '${prefix}'` : ''}\tOptional: ${reference?.optional ?? false}\n`,
      )
    }
  }
  out.write(2, `Environment:${env.length === 0 ? '\t<none>' : ''}\n`)
  for (const variable of env) describeVariable(out, variable, container, pod)
}

function describeVariable(
  out: Description,
  { name, value = '', valueFrom }: V1EnvVar,
  container: V1Container,
  pod: V1Pod | undefined,
): void {
  if (valueFrom === undefined) {
    for (const [index, line] of value.split('\n').entries()) out.write(3, `${index === 0 ? `${name}:` : ''}\t${line}\n`)
    return
  }
  const { fieldRef, resourceFieldRef, secretKeyRef, configMapKeyRef } = valueFrom
  if (fieldRef !== undefined)
    out.write(
      3,
      `${name}:\t${pod === undefined ? '' : fieldText(pod, fieldRef.fieldPath)} (${fieldRef.apiVersion ?? ''}:${fieldRef.fieldPath})\n`,
    )
  else if (resourceFieldRef !== undefined)
    out.write(
      3,
      `${name}:\t${resourceFieldText(container, resourceFieldRef.resource, resourceFieldRef.divisor)} (${resourceFieldRef.resource})\n`,
    )
  else if (secretKeyRef !== undefined)
    out.write(
      3,
      `${name}:\t<set to the key '${secretKeyRef.key}' in secret '${secretKeyRef.name}'>\tOptional: ${secretKeyRef.optional ?? false}\n`,
    )
  else if (configMapKeyRef !== undefined)
    out.write(
      3,
      `${name}:\t<set to the key '${configMapKeyRef.key}' of config map '${configMapKeyRef.name}'>\tOptional: ${configMapKeyRef.optional ?? false}\n`,
    )
}

function fieldText({ metadata, spec, status }: V1Pod, path: string): string {
  const key = /^metadata\.(labels|annotations)\['(.+)'\]$/.exec(path)
  if (key !== null) return metadata?.[key[1] as 'labels' | 'annotations']?.[key[2] ?? ''] ?? ''
  const known: Readonly<Record<string, string | undefined>> = {
    'metadata.name': metadata?.name,
    'metadata.namespace': metadata?.namespace,
    'metadata.uid': metadata?.uid,
    'spec.nodeName': '',
    'spec.serviceAccountName': '',
    'status.podIP': '',
  }
  void spec
  void status
  return known[path] ?? ''
}

/** The amount in units of the divisor, rounded up. */
function resourceFieldText({ resources }: V1Container, resource: string, divisor: string | undefined): string {
  const [kind, name = ''] = resource.split(/\.(.*)/s)
  const text = (kind === 'limits' ? resources?.limits : resources?.requests)?.[name]
  if (text === undefined) return kind === 'limits' && (name === 'cpu' || name === 'memory') ? 'node allocatable' : '0'
  const unit = divisor && divisor !== '0' ? parseQuantity(divisor).milliValue() : 1000
  return String(Math.ceil(parseQuantity(text).milliValue() / unit))
}

function describeMounts(out: Description, { volumeMounts = [], volumeDevices = [] }: V1Container): void {
  const none = volumeMounts.length === 0 ? '\t<none>' : ''
  out.write(2, `Mounts:${none}\n`)
  for (const { mountPath, name, readOnly, subPath } of [...volumeMounts].sort((one, other) => (one.mountPath < other.mountPath ? -1 : 1))) {
    const flags = [readOnly ? 'ro' : 'rw', ...(subPath ? [`path=${JSON.stringify(subPath)}`] : [])]
    out.write(3, `${mountPath} from ${name} (${flags.join(',')})\n`)
  }
  if (volumeDevices.length === 0) return
  out.write(2, `Devices:${none}\n`)
  for (const { devicePath, name } of [...volumeDevices].sort((one, other) => (one.devicePath < other.devicePath ? -1 : 1)))
    out.write(3, `${devicePath} from ${name}\n`)
}
