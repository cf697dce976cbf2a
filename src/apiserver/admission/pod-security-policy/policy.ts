import type { V1SELinuxOptions } from '#api/core/v1/types.gen.ts'
import type { V1ObjectMeta } from '#api/meta/v1/types.gen.ts'

export type IdRange = { min: number; max: number }
export type IdRule = { rule: string; ranges?: IdRange[] }

export type PodSecurityPolicySpec = {
  privileged?: boolean
  defaultAddCapabilities?: string[]
  requiredDropCapabilities?: string[]
  allowedCapabilities?: string[]
  volumes?: string[]
  hostNetwork?: boolean
  hostPorts?: IdRange[]
  hostPID?: boolean
  hostIPC?: boolean
  seLinux: { rule: string; seLinuxOptions?: V1SELinuxOptions }
  runAsUser: IdRule
  runAsGroup?: IdRule
  supplementalGroups: IdRule
  fsGroup: IdRule
  readOnlyRootFilesystem?: boolean
  defaultAllowPrivilegeEscalation?: boolean
  allowPrivilegeEscalation?: boolean
  allowedHostPaths?: { pathPrefix?: string; readOnly?: boolean }[]
  allowedFlexVolumes?: { driver: string }[]
  allowedCSIDrivers?: { name: string }[]
  allowedUnsafeSysctls?: string[]
  forbiddenSysctls?: string[]
  allowedProcMountTypes?: string[]
  runtimeClass?: { allowedRuntimeClassNames: string[]; defaultRuntimeClassName?: string }
}

/** What pods may look like, and what they get where they are silent. Whoever may "use" it is under it. */
export type PodSecurityPolicy = { metadata: V1ObjectMeta; spec: PodSecurityPolicySpec }

export const rangesText = (ranges: readonly IdRange[] = []): string => `[${ranges.map(({ min, max }) => `{${min} ${max}}`).join(' ')}]`

export const isInRanges = (id: number, ranges: readonly IdRange[] = []): boolean => ranges.some(({ min, max }) => id >= min && id <= max)
