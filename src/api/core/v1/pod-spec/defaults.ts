/** Fills in what the author of a pod spec left out. */
import { type AnyContainer, containerLists } from '#api/core/v1/pod-spec/all-containers.ts'
import { defaultVolume } from '#api/core/v1/pod-spec/default-volume.ts'
import { defaultPullPolicy } from '#api/core/v1/pod-spec/image-reference.ts'
import { roundUpToMillis } from '#api/core/v1/quantities.ts'
import { isHugePages, isOvercommitAllowed, isPodLevelResource } from '#api/core/v1/resource-names.ts'
import { sumOverContainers } from '#api/core/v1/resources.ts'
import type { V1Container, V1HTTPGetAction, V1PodSpec, V1PodTemplateSpec, V1Probe, V1ResourceRequirements } from '#api/core/v1/types.gen.ts'
import type { V1ObjectMeta } from '#api/meta/v1/types.gen.ts'

/** What every pod spec gets, in a template as well. */
export function defaultPodSpec(spec: V1PodSpec): void {
  spec.dnsPolicy ||= 'ClusterFirst'
  spec.restartPolicy ||= 'Always'
  spec.securityContext ??= {}
  spec.terminationGracePeriodSeconds ??= 30
  spec.schedulerName ||= 'default-scheduler'
  if (spec.volumes) for (const volume of spec.volumes) defaultVolume(volume)
  for (const list of containerLists) {
    const containers = spec[list]
    if (containers) for (const container of containers) defaultContainer(container)
  }
  roundUpToMillis(spec.overhead)
  roundUpRequirements(spec.resources)
  mirrorServiceAccount(spec)
}

export function defaultPodTemplate(template: V1PodTemplateSpec): void {
  template.spec ??= { containers: [] }
  defaultPodSpec(template.spec)
  dropInitContainerAnnotations(template.metadata)
}

/** The field has an old name as well; both always say the same. */
function mirrorServiceAccount(spec: V1PodSpec): void {
  const name = spec.serviceAccountName || spec.serviceAccount
  if (name) {
    spec.serviceAccountName = name
    spec.serviceAccount = name
  } else if (spec.serviceAccount !== undefined) delete spec.serviceAccount
}

const initContainerAnnotations = [
  'pod.beta.kubernetes.io/init-containers',
  'pod.alpha.kubernetes.io/init-containers',
  'pod.beta.kubernetes.io/init-container-statuses',
  'pod.alpha.kubernetes.io/init-container-statuses',
]

/** Init containers were annotations once; what is still written there means nothing. */
export function dropInitContainerAnnotations(metadata: V1ObjectMeta | undefined): void {
  const annotations = metadata?.annotations
  if (annotations === undefined) return
  for (const key of initContainerAnnotations) if (annotations[key] !== undefined) delete annotations[key]
}

/** What only pods get: in a template these stay open. Runs before the defaults of the spec. */
export function defaultRunningPod(spec: V1PodSpec): void {
  if (spec.containers) for (const container of spec.containers) requestWhatIsLimited(container)
  if (spec.initContainers) for (const container of spec.initContainers) requestWhatIsLimited(container)
  if (spec.resources) defaultPodLevelResources(spec, spec.resources)
  spec.enableServiceLinks ??= true
  if (spec.hostNetwork) {
    for (const container of [...(spec.containers ?? []), ...(spec.initContainers ?? [])]) {
      for (const port of container.ports ?? []) port.hostPort ||= port.containerPort
    }
  }
}

function requestWhatIsLimited({ resources }: V1Container): void {
  const limits = resources?.limits
  if (limits === undefined || resources === undefined) return
  resources.requests ??= {}
  for (const name in limits) resources.requests[name] ??= limits[name] as string
}

function defaultPodLevelResources(spec: V1PodSpec, resources: V1ResourceRequirements): void {
  const isEmpty = (list: object | undefined): boolean => list === undefined || Object.keys(list).length === 0
  if (!isEmpty(resources.limits) || !isEmpty(resources.requests)) {
    const limits = { ...resources.limits }
    for (const [name, sum] of Object.entries(sumOverContainers(spec, 'limits'))) {
      if (isHugePages(name) && resources.requests?.[name] === undefined) limits[name] ??= sum.toString()
    }
    if (!isEmpty(limits)) resources.limits = limits
  }
  if (isEmpty(resources.limits)) return
  const requests = { ...resources.requests }
  for (const [name, sum] of Object.entries(sumOverContainers(spec, 'requests'))) {
    if (isPodLevelResource(name) && isOvercommitAllowed(name)) requests[name] ??= sum.toString()
  }
  for (const [name, limit] of Object.entries(resources.limits ?? {})) {
    if (isPodLevelResource(name)) requests[name] ??= limit
  }
  if (!isEmpty(requests)) resources.requests = requests
}

function defaultContainer(container: AnyContainer): void {
  container.imagePullPolicy ||= defaultPullPolicy(container.image ?? '')
  container.terminationMessagePath ||= '/dev/termination-log'
  container.terminationMessagePolicy ||= 'File'
  if (container.ports) for (const port of container.ports) port.protocol ||= 'TCP'
  if (container.env) {
    for (const { valueFrom } of container.env) {
      if (valueFrom?.fieldRef) valueFrom.fieldRef.apiVersion ||= 'v1'
      if (valueFrom?.fileKeyRef) valueFrom.fileKeyRef.optional ??= false
    }
  }
  roundUpRequirements(container.resources)
  if (container.livenessProbe) defaultProbe(container.livenessProbe)
  if (container.readinessProbe) defaultProbe(container.readinessProbe)
  if (container.startupProbe) defaultProbe(container.startupProbe)
  const { postStart, preStop } = container.lifecycle ?? {}
  if (postStart?.httpGet) defaultHttpGet(postStart.httpGet)
  if (preStop?.httpGet) defaultHttpGet(preStop.httpGet)
}

function roundUpRequirements(resources: V1ResourceRequirements | undefined): void {
  if (resources === undefined) return
  roundUpToMillis(resources.limits)
  roundUpToMillis(resources.requests)
}

function defaultProbe(probe: V1Probe): void {
  probe.timeoutSeconds ||= 1
  probe.periodSeconds ||= 10
  probe.successThreshold ||= 1
  probe.failureThreshold ||= 3
  if (probe.httpGet) defaultHttpGet(probe.httpGet)
  if (probe.grpc) probe.grpc.service ??= ''
}

function defaultHttpGet(get: V1HTTPGetAction): void {
  get.path ||= '/'
  get.scheme ||= 'HTTP'
}
