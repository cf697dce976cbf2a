/** Validates what a node tells of the containers it runs. */
import type {
  V1Container,
  V1ContainerStatus,
  V1LinuxContainerUser,
  V1PodSpec,
  V1PodStatus,
  V1ResourceHealth,
  V1ResourceStatus,
} from '#api/core/v1/types.gen.ts'
import type { Check } from '#api/meta/check.ts'
import { groupId, userId } from '#api/meta/formats.ts'
import { byteLength } from '#api/meta/names.ts'

const lists = ['containerStatuses', 'initContainerStatuses', 'ephemeralContainerStatuses'] as const

/** `check` stands at the status. */
export function validateContainerStatuses(check: Check<V1PodStatus>, spec: V1PodSpec): void {
  for (const list of lists) {
    for (const place of check.at(list).items()) {
      const { user } = place.value
      const at = place.at('user').at('linux')
      if (spec.os?.name === 'windows') {
        if (user?.linux) at.forbidden('cannot be set for a windows pod')
      } else if (user?.linux && (spec.os === undefined || spec.os.name === 'linux')) validateLinuxUser(at.with(user.linux))
    }
  }
  validateAllocatedResources(check.at('containerStatuses'), spec.containers)
  validateAllocatedResources(check.at('initContainerStatuses'), spec.initContainers)
  for (const place of check.at('ephemeralContainerStatuses').items()) {
    const { allocatedResourcesStatus } = place.value
    if (!allocatedResourcesStatus?.length) continue
    const at = place.at('allocatedResourcesStatus')
    at.forbidden('must not be specified in container status')
  }
}

function validateLinuxUser(check: Check<V1LinuxContainerUser>): void {
  const { uid = 0, gid = 0 } = check.value
  for (const message of userId(uid)) check.at('uid').or(0).invalid(message)
  for (const message of groupId(gid)) check.at('gid').or(0).invalid(message)
  for (const at of check.at('supplementalGroups').items()) {
    const group = at.value
    for (const message of groupId(group)) at.invalid(message)
  }
}

function validateAllocatedResources(
  check: Check<readonly V1ContainerStatus[] | undefined>,
  containers: readonly V1Container[] | undefined,
): void {
  if (!check.value?.some(({ allocatedResourcesStatus }) => allocatedResourcesStatus !== undefined)) return
  // Of containers with one name the first counts.
  const byName = new Map(containers?.toReversed().map((container) => [container.name, { container, claims: claimsOf(container) }]))
  for (const place of check.items()) {
    const { container, claims } = byName.get(place.value.name) ?? {}
    for (const at of place.at('allocatedResourcesStatus').items()) {
      const allocated = at.value
      if (container && claims) validateAllocatedName(at.at('name').or(''), container, claims)
      validateHealths(allocated, at.at('resources'))
    }
  }
}

function claimsOf({ resources }: V1Container): ReadonlySet<string> {
  return new Set(resources?.claims?.map(({ name, request }) => `claim:${name}${request ? `/${request}` : ''}`))
}

function validateAllocatedName(check: Check<string>, { resources }: V1Container, claims: ReadonlySet<string>): void {
  const name = check.value
  if (name.startsWith('claim:')) {
    if (claims.has(name)) return
    const format = "'claim:<claimName>/<request>' or 'claim:<claimName>' if request is empty"
    check.invalid(`must match one of the container's resource claims in a format ${format}`)
  } else if (resources?.requests?.[name] === undefined) check.invalid("must match one of the container's resource requests")
}

const healthValues = ['Healthy', 'Unhealthy', 'Unknown']
const messageMaxBytes = 1024

function validateHealths({ resources = [] }: V1ResourceStatus, check: Check<V1ResourceHealth[] | undefined>): void {
  const ids = new Set<string>()
  for (const [index, { resourceID = '', health = '', message }] of resources.entries()) {
    const at = check.at(index)
    if (!healthValues.includes(health)) at.at('health').notSupported(healthValues, health)
    if (message === '') at.at('message').required('must be non-empty if specified')
    else if (message !== undefined && byteLength(message) > messageMaxBytes) at.at('message').tooLong(messageMaxBytes)
    if (ids.has(resourceID)) at.at('resourceID').duplicate(resourceID)
    else ids.add(resourceID)
  }
}

const imageRefMaxBytes = 256

/** `check` stands at the status. */
export function validateImageVolumeStatuses(check: Check<V1PodStatus>): void {
  for (const list of lists) {
    for (const place of check.at(list).items()) {
      for (const here of place.at('volumeMounts').items()) {
        const { volumeStatus } = here.value
        if (!volumeStatus?.image) continue
        const reference = volumeStatus.image.imageRef ?? ''
        const at = here.at('volumeStatus').dynamic('imageVolumeStatus').dynamic('imageRef')
        if (reference === '') at.required('imageRef must not be empty')
        if (byteLength(reference) > imageRefMaxBytes) at.tooLong(imageRefMaxBytes)
      }
    }
  }
}
