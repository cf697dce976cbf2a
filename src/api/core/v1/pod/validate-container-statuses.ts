/** Judges what a node tells of the containers it runs. */
import type {
  V1Container,
  V1ContainerStatus,
  V1LinuxContainerUser,
  V1PodSpec,
  V1PodStatus,
  V1ResourceStatus,
} from '#api/core/v1/types.gen.ts'
import type { Check } from '#api/meta/check.ts'
import { groupId, userId } from '#api/meta/formats.ts'
import { byteLength } from '#api/meta/names.ts'

const lists = ['containerStatuses', 'initContainerStatuses', 'ephemeralContainerStatuses'] as const

/** `check` stands at the status. */
export function validateContainerStatuses(status: V1PodStatus, spec: V1PodSpec, check: Check): void {
  for (const list of lists) {
    for (const [index, { user }] of (status[list] ?? []).entries()) {
      const at = check.at(list).at(index).at('user.linux')
      if (spec.os?.name === 'windows') {
        if (user?.linux) at.forbidden('cannot be set for a windows pod')
      } else if (user?.linux && (spec.os === undefined || spec.os.name === 'linux')) validateLinuxUser(user.linux, at)
    }
  }
  validateAllocatedResources(status.containerStatuses, spec.containers, check.at('containerStatuses'))
  validateAllocatedResources(status.initContainerStatuses, spec.initContainers, check.at('initContainerStatuses'))
  for (const [index, { allocatedResourcesStatus }] of (status.ephemeralContainerStatuses ?? []).entries()) {
    if (!allocatedResourcesStatus?.length) continue
    const at = check.at('ephemeralContainerStatuses').at(index).at('allocatedResourcesStatus')
    at.forbidden('must not be specified in container status')
  }
}

function validateLinuxUser({ uid = 0, gid = 0, supplementalGroups = [] }: V1LinuxContainerUser, check: Check): void {
  for (const message of userId(uid)) check.at('uid').invalid(uid, message)
  for (const message of groupId(gid)) check.at('gid').invalid(gid, message)
  for (const [index, group] of supplementalGroups.entries()) {
    for (const message of groupId(group)) check.at('supplementalGroups').at(index).invalid(group, message)
  }
}

function validateAllocatedResources(
  statuses: readonly V1ContainerStatus[] | undefined,
  containers: readonly V1Container[] | undefined,
  check: Check,
): void {
  for (const [index, { name, allocatedResourcesStatus = [] }] of (statuses ?? []).entries()) {
    const container = containers?.find((each) => each.name === name)
    for (const [place, allocated] of allocatedResourcesStatus.entries()) {
      const at = check.at(index).at('allocatedResourcesStatus').at(place)
      if (container) validateAllocatedName(allocated.name ?? '', container, at.at('name'))
      validateHealths(allocated, at.at('resources'))
    }
  }
}

function validateAllocatedName(name: string, { resources }: V1Container, check: Check): void {
  if (name.startsWith('claim:')) {
    const claims = (resources?.claims ?? []).map((claim) => `claim:${claim.name}${claim.request ? `/${claim.request}` : ''}`)
    if (claims.includes(name)) return
    const format = "'claim:<claimName>/<request>' or 'claim:<claimName>' if request is empty"
    check.invalid(name, `must match one of the container's resource claims in a format ${format}`)
  } else if (resources?.requests?.[name] === undefined) check.invalid(name, "must match one of the container's resource requests")
}

const healthValues = ['Healthy', 'Unhealthy', 'Unknown']
const messageMaxBytes = 1024

function validateHealths({ resources = [] }: V1ResourceStatus, check: Check): void {
  const ids = new Set<string>()
  for (const [index, { resourceID = '', health = '', message }] of resources.entries()) {
    const at = check.at(index)
    if (!healthValues.includes(health)) at.at('health').notSupported(health, healthValues)
    if (message === '') at.at('message').required('must be non-empty if specified')
    else if (message !== undefined && byteLength(message) > messageMaxBytes) at.at('message').tooLong(messageMaxBytes)
    if (ids.has(resourceID)) at.at('resourceID').duplicate(resourceID)
    else ids.add(resourceID)
  }
}

const imageRefMaxBytes = 256

/** `check` stands at the status. */
export function validateImageVolumeStatuses(status: V1PodStatus, check: Check): void {
  for (const list of lists) {
    for (const [index, { volumeMounts = [] }] of (status[list] ?? []).entries()) {
      for (const [place, { volumeStatus }] of volumeMounts.entries()) {
        if (!volumeStatus?.image) continue
        const reference = volumeStatus.image.imageRef ?? ''
        const at = check.at(list).at(index).at('volumeMounts').at(place).at('volumeStatus.imageVolumeStatus.imageRef')
        if (reference === '') at.required('imageRef must not be empty')
        if (byteLength(reference) > imageRefMaxBytes) at.tooLong(imageRefMaxBytes)
      }
    }
  }
}
