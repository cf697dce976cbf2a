/** Labels of SELinux as far as a pod says them: `user:role:type:level`. What it leaves out the node fills in, except for the level. */

import type { V1Pod, V1SELinuxOptions } from '#api/core/v1/types.gen.ts'

function labelOf({ user = '', role = '', type = '', level = '' }: V1SELinuxOptions = {}): string {
  const label = [user, role, type, level].join(':')
  return label === ':::' ? '' : label
}

/** Only what both say can differ; the level is never filled in, so it must be the same. */
export function labelsConflict(one: string, other: string): boolean {
  const [parts, others] = [partsOf(one), partsOf(other)]
  if (parts[3] !== others[3]) return true
  return [0, 1, 2].some((index) => parts[index] !== '' && others[index] !== '' && parts[index] !== others[index])
}

/** The level may have colons itself. */
function partsOf(label: string): string[] {
  const [user = '', role = '', type = '', ...level] = label.split(':')
  return [user, role, type, level.join(':')]
}

/** The labels with which each volume is mounted into the pod's containers. */
export function labelsOfVolumes({ spec }: V1Pod): Map<string, string[]> {
  const labels = new Map<string, string[]>()
  for (const { securityContext, volumeMounts = [] } of [...(spec.initContainers ?? []), ...spec.containers]) {
    const label = labelOf(securityContext?.seLinuxOptions ?? spec.securityContext?.seLinuxOptions)
    for (const { name } of volumeMounts) {
      const known = labels.get(name) ?? []
      if (!known.includes(label)) known.push(label)
      labels.set(name, known)
    }
  }
  return labels
}
