/** Volumes that are mounted with the pod's SELinux label at once, instead of each file being labelled. */
import type { V1Pod, V1SELinuxOptions } from '#api/core/v1/types.gen.ts'
import type { V1CSIDriver } from '#api/storage/v1/types.gen.ts'
import type { VolumeSpec } from '#kubelet/volumes/mountable/volume-spec.ts'

/** Whether the host labels files. */
export type SeLinux = { isEnabled(): Promise<boolean> }

const usual = { user: 'system_u', role: 'object_r', type: 'container_file_t' }

/** Only for volumes of a single pod: the label is the whole mount's. */
export async function withSeLinuxOption(
  { mountOptions, accessModes, isBlock }: VolumeSpec,
  pod: V1Pod,
  driver: V1CSIDriver | undefined,
  seLinux: SeLinux | undefined,
): Promise<string[]> {
  const isAlone = accessModes.length === 1 && accessModes[0] === 'ReadWriteOncePod'
  if (isBlock || !isAlone || !driver?.spec?.seLinuxMount || seLinux === undefined) return mountOptions
  const label = labelOf(pod)
  if (label === undefined || !(await seLinux.isEnabled())) return mountOptions
  return [...mountOptions, `context="${label}"`]
}

function labelOf({ spec }: V1Pod): string | undefined {
  const labels = new Set(
    [...(spec.initContainers ?? []), ...spec.containers].map(({ securityContext }) =>
      textOf(securityContext?.seLinuxOptions ?? spec.securityContext?.seLinuxOptions),
    ),
  )
  const [label] = labels
  return labels.size === 1 ? label : undefined
}

function textOf(options: V1SELinuxOptions | undefined): string | undefined {
  if (!options?.level) return undefined
  const { user = '', role = '', type = '', level } = options
  // Types of processes are not types of files.
  return [user || usual.user, role || usual.role, type === '' || type.endsWith('_t') ? usual.type : type, level].join(':')
}
