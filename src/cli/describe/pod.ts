import type { V1Container, V1Pod } from '#api/core/v1/types.gen.ts'
import type { ApiObject } from '#cli/call.ts'
import { describeContainers, describeResources } from './containers.ts'
import { controllerOf, type Description, rfc1123 } from './description.ts'
import { describeSpread, describeTolerations } from './pod-template.ts'
import { describeVolumes } from './volumes.ts'

export function describePod(out: Description, object: ApiObject): void {
  const pod = object as unknown as V1Pod
  const { metadata, spec, status = {} } = pod
  out.field(0, 'Name', metadata?.name)
  out.field(0, 'Namespace', metadata?.namespace)
  out.optional(0, 'Priority', spec?.priority)
  out.optional(0, 'Priority Class Name', spec?.priorityClassName)
  out.optional(0, 'Runtime Class Name', spec?.runtimeClassName)
  out.optional(0, 'Service Account', spec?.serviceAccountName)
  out.field(0, 'Node', spec?.nodeName ? `${spec.nodeName}/${status.hostIP ?? ''}` : '<none>')
  if (status.startTime) out.field(0, 'Start Time', rfc1123(status.startTime))
  out.labels('Labels', metadata?.labels)
  out.annotations('Annotations', metadata?.annotations)
  if (metadata?.deletionTimestamp && status.phase !== 'Failed' && status.phase !== 'Succeeded') {
    out.field(0, 'Status', `Terminating (lasts ${out.since(metadata.deletionTimestamp)})`)
    out.field(0, 'Termination Grace Period', `${metadata.deletionGracePeriodSeconds ?? 0}s`)
  } else out.field(0, 'Status', status.phase ?? '')
  out.optional(0, 'Reason', status.reason)
  out.optional(0, 'Message', status.message)
  const profile = spec?.securityContext?.seccompProfile
  if (profile !== undefined) {
    out.field(0, 'SeccompProfile', profile.type)
    if (profile.type === 'Localhost') out.field(0, 'LocalhostProfile', profile.localhostProfile)
  }
  out.field(0, 'IP', status.podIP ?? '')
  if ((status.podIPs ?? []).length === 0) out.field(0, 'IPs', '<none>')
  else {
    out.write(0, 'IPs:\n')
    for (const { ip } of status.podIPs ?? []) out.field(1, 'IP', ip)
  }
  const owner = controllerOf(metadata)
  if (owner !== '') out.field(0, 'Controlled By', owner)
  out.optional(0, 'NominatedNodeName', status.nominatedNodeName)
  if (spec?.resources !== undefined) {
    out.write(0, 'Resources:\n')
    describeResources(out, spec.resources, 1)
  }
  if ((spec?.initContainers ?? []).length > 0)
    describeContainers(out, {
      title: 'Init Containers',
      containers: spec?.initContainers ?? [],
      statuses: status.initContainerStatuses ?? [],
      pod,
    })
  describeContainers(out, { title: 'Containers', containers: spec?.containers ?? [], statuses: status.containerStatuses ?? [], pod })
  if ((spec?.ephemeralContainers ?? []).length > 0)
    describeContainers(out, {
      title: 'Ephemeral Containers',
      containers: (spec?.ephemeralContainers ?? []) as V1Container[],
      statuses: status.ephemeralContainerStatuses ?? [],
      pod,
    })
  describeConditions(out, pod)
  describeVolumes(out, spec?.volumes ?? [])
  out.field(0, 'QoS Class', status.qosClass ?? '')
  out.labels('Node-Selectors', spec?.nodeSelector)
  describeTolerations(out, 'Tolerations', spec?.tolerations ?? [])
  describeSpread(out, spec?.topologySpreadConstraints ?? [])
}

function describeConditions(out: Description, { spec, status }: V1Pod): void {
  const conditions = status?.conditions ?? []
  const gates = spec?.readinessGates ?? []
  if (gates.length > 0) {
    out.write(0, 'Readiness Gates:\n  Type\tStatus\n')
    for (const { conditionType } of gates)
      out.write(1, `${conditionType} \t${conditions.find(({ type }) => type === conditionType)?.status ?? '<none>'} \n`)
  }
  if (conditions.length === 0) return
  out.write(0, 'Conditions:\n  Type\tStatus\n')
  for (const { type, status: value } of conditions) out.write(1, `${type} \t${value} \n`)
}
