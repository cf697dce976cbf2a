/** Drops pod fields whose feature gate is off, unless the stored object already uses them. */
import { eachContainer, isSidecar, someContainer } from '#api/core/v1/pod-spec/all-containers.ts'
import { type Gates, usesContainerRestartRules, usesFileKeyRef } from '#api/core/v1/pod-spec/validation-options.ts'
import type { V1Container, V1PodSpec, V1PodTemplateSpec, V1VolumeProjection } from '#api/core/v1/types.gen.ts'

/** Of a template. Every workload calls this before it validates its template, on create (without `prev`) and on update. */
export function dropDisabledFields(template: V1PodTemplateSpec | undefined, prev: V1PodTemplateSpec | undefined, gates: Gates): void {
  if (template?.spec) dropDisabledSpecFields(template.spec, prev?.spec, gates)
}

export function dropDisabledSpecFields(spec: V1PodSpec, prev: V1PodSpec | undefined, { isEnabled }: Gates): void {
  if (spec.resources && !isEnabled('PodLevelResources') && !usesPodLevelResources(prev)) delete spec.resources
  if (!isEnabled('MatchLabelKeysInPodTopologySpread') && !spreadsByLabelKeys(prev)) {
    for (const constraint of spec.topologySpreadConstraints ?? []) delete constraint.matchLabelKeys
  }
  if (!isEnabled('ClusterTrustBundleProjection') && !projects(prev, 'clusterTrustBundle')) dropProjection(spec, 'clusterTrustBundle')
  if (!isEnabled('PodCertificateRequest') && !projects(prev, 'podCertificate')) dropProjection(spec, 'podCertificate')
  if (spec.schedulingGroup && !isEnabled('GenericWorkload') && !prev?.schedulingGroup) delete spec.schedulingGroup
  if (!isEnabled('ContainerRestartRules') && !usesContainerRestartRules(prev)) dropContainerRestartRules(spec)
  if (spec.hostnameOverride !== undefined && !isEnabled('HostnameOverride') && prev?.hostnameOverride === undefined) {
    delete spec.hostnameOverride
  }
  if (!isEnabled('EnvFiles') && !usesFileKeyRef(prev)) dropFileKeyRefs(spec)
  if (!isEnabled('ContainerStopSignals') && !usesStopSignal(prev)) dropStopSignals(spec)
}

function usesPodLevelResources(spec: V1PodSpec | undefined): boolean {
  const { requests = {}, limits = {} } = spec?.resources ?? {}
  return Object.keys(requests).length > 0 || Object.keys(limits).length > 0
}

const spreadsByLabelKeys = (spec: V1PodSpec | undefined): boolean =>
  (spec?.topologySpreadConstraints ?? []).some(({ matchLabelKeys }) => matchLabelKeys?.length)

type GatedProjection = keyof V1VolumeProjection & ('clusterTrustBundle' | 'podCertificate')

const projects = (spec: V1PodSpec | undefined, source: GatedProjection): boolean =>
  (spec?.volumes ?? []).some(({ projected }) => projected?.sources?.some((each) => each[source] !== undefined))

function dropProjection(spec: V1PodSpec, source: GatedProjection): void {
  if (spec.volumes === undefined) return
  for (const { projected } of spec.volumes) {
    for (const each of projected?.sources ?? []) if (each[source] !== undefined) delete each[source]
  }
}

function dropContainerRestartRules(spec: V1PodSpec): void {
  const dropFrom = (container: Pick<V1Container, 'restartPolicy' | 'restartPolicyRules'>) => {
    delete container.restartPolicy
    delete container.restartPolicyRules
  }
  for (const container of spec.initContainers ?? []) {
    if (isSidecar(container)) delete container.restartPolicyRules
    else dropFrom(container)
  }
  for (const container of spec.containers ?? []) dropFrom(container)
  for (const container of spec.ephemeralContainers ?? []) dropFrom(container)
}

function dropFileKeyRefs(spec: V1PodSpec): void {
  eachContainer(spec, ({ env }) => {
    for (const { valueFrom } of env ?? []) if (valueFrom) delete valueFrom.fileKeyRef
  })
}

const usesStopSignal = (spec: V1PodSpec | undefined): boolean => someContainer(spec, ({ lifecycle }) => lifecycle?.stopSignal !== undefined)

function dropStopSignals(spec: V1PodSpec): void {
  eachContainer(spec, (container) => {
    const { lifecycle } = container
    if (lifecycle?.stopSignal === undefined) return
    delete lifecycle.stopSignal
    if (lifecycle.postStart === undefined && lifecycle.preStop === undefined) delete container.lifecycle
  })
}
