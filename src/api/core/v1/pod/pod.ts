import { Pod } from '#api/core/v1/kinds.gen.ts'
import { podColumns, podRowConditions } from '#api/core/v1/pod/columns.ts'
import { prepareEphemeralContainers, validateEphemeralContainersUpdate } from '#api/core/v1/pod/ephemeral-containers.ts'
import { isTerminalPhase } from '#api/core/v1/pod/pod-state.ts'
import { appArmorWarnings, preparePodForCreate } from '#api/core/v1/pod/prepare-for-create.ts'
import { preparePodResize, validatePodResize } from '#api/core/v1/pod/resize.ts'
import { podStatusWarnings, preparePodStatus } from '#api/core/v1/pod/status.ts'
import { validatePod } from '#api/core/v1/pod/validate-pod.ts'
import { validatePodStatusUpdate } from '#api/core/v1/pod/validate-status.ts'
import { validatePodUpdate } from '#api/core/v1/pod/validate-update.ts'
import { defaultPodSpec, defaultRunningPod, dropInitContainerAnnotations } from '#api/core/v1/pod-spec/defaults.ts'
import { dropDisabledSpecFields } from '#api/core/v1/pod-spec/drop-disabled.ts'
import { podSpecWarnings } from '#api/core/v1/pod-spec/warnings.ts'
import { roundUpToMillis } from '#api/core/v1/quantities.ts'
import type { V1PodStatus } from '#api/core/v1/types.gen.ts'
import { equalityOf } from '#api/meta/equality.ts'
import { dns1123Label } from '#api/meta/names.ts'
import { defineResource } from '#api/resource.ts'
import { append } from '#base/append.ts'

export const podResource = defineResource(Pod, {
  allowUnconditionalUpdate: true,
  returnsDeletedObject: true,

  defaults(pod) {
    pod.spec ??= { containers: [] }
    defaultRunningPod(pod.spec)
    defaultPodSpec(pod.spec)
    if ((pod.spec.terminationGracePeriodSeconds ?? 0) < 0) pod.spec.terminationGracePeriodSeconds = 1
    dropInitContainerAnnotations(pod.metadata)
    if (pod.status) defaultStatus(pod.status)
  },

  prepareForCreate: preparePodForCreate,
  validate: validatePod,
  warningsOnCreate(pod) {
    const { metadata, spec } = pod
    const warnings = [...appArmorWarnings(pod)]
    const messages = dns1123Label(metadata.name ?? '')
    if (messages.length > 0) warnings.push(`${hostnameWarning}: [${messages.join(' ')}]`)
    if (spec) append(warnings, podSpecWarnings(spec, metadata))
    return warnings
  },

  generation: (next, prev) => !equalityOf(Pod).at('spec')(next.spec, prev.spec),
  prepareForUpdate(next, prev, context) {
    if (next.spec) dropDisabledSpecFields(next.spec, prev.spec, context)
  },
  validateUpdate: validatePodUpdate,

  gracePeriodSeconds: ({ spec }) => spec?.terminationGracePeriodSeconds ?? 0,
  /** Nothing is left to wait for when no node runs the pod, or it has ended. */
  prepareForDelete({ spec, status }, requestedSeconds) {
    if (!spec?.nodeName || isTerminalPhase(status?.phase)) return 0
    const seconds = requestedSeconds ?? spec.terminationGracePeriodSeconds ?? 0
    return seconds < 0 ? 1 : seconds
  },

  columns: podColumns,
  rowConditions: podRowConditions,
  fieldSelectors: {
    'spec.nodeName': ({ spec }) => spec?.nodeName ?? '',
    'spec.restartPolicy': ({ spec }) => spec?.restartPolicy ?? '',
    'spec.schedulerName': ({ spec }) => spec?.schedulerName ?? '',
    'spec.serviceAccountName': ({ spec }) => spec?.serviceAccountName ?? '',
    'spec.hostNetwork': ({ spec }) => String(spec?.hostNetwork ?? false),
    'status.phase': ({ status }) => status?.phase ?? '',
    'status.podIP': ({ status }) => status?.podIPs?.[0]?.ip ?? '',
    // Accepted, but nothing is ever found by it: upstream does not fill it in.
    'status.podIPs': () => '',
    'status.nominatedNodeName': ({ status }) => status?.nominatedNodeName ?? '',
    'spec.host': ({ spec }) => spec?.nodeName ?? '',
  },

  subresources: {
    status: {
      // Owners are the garbage collector's business, which does not come this way.
      keepsMetadata: ['deletionTimestamp', 'ownerReferences'],
      prepareForUpdate: preparePodStatus,
      validateUpdate: validatePodStatusUpdate,
      warningsOnUpdate: podStatusWarnings,
    },
    ephemeralcontainers: {
      prepareForUpdate: prepareEphemeralContainers,
      validateUpdate: validateEphemeralContainersUpdate,
    },
    resize: {
      prepareForUpdate: preparePodResize,
      validateUpdate: validatePodResize,
    },
  },
})

const hostnameWarning =
  "metadata.name: this is used in the Pod's hostname, which can result in surprising behavior; a DNS label is recommended"

function defaultStatus(status: V1PodStatus): void {
  // The older field wins where the two disagree.
  const { podIP, podIPs = [] } = status
  if (podIP && podIPs[0]?.ip !== podIP) status.podIPs = [{ ip: podIP }]
  else if (podIPs[0]?.ip) status.podIP = podIPs[0].ip
  for (const list of [status.containerStatuses, status.initContainerStatuses, status.ephemeralContainerStatuses]) {
    for (const { allocatedResources, resources } of list ?? []) {
      roundUpToMillis(allocatedResources)
      roundUpToMillis(resources?.limits)
      roundUpToMillis(resources?.requests)
    }
  }
}
