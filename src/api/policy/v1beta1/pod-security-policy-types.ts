/** The types of pod security policies. */
import type { V1SELinuxOptions } from '#api/core/v1/types.gen.ts'
import type { V1ObjectMeta } from '#api/meta/v1/types.gen.ts'
import { writeTypes } from '#api/schema/written-types.ts'

export type V1beta1PodSecurityPolicy = {
  kind?: string
  apiVersion?: string
  metadata: V1ObjectMeta
  spec: V1beta1PodSecurityPolicySpec
}

export type V1beta1IDRange = { min: number; max: number }

export type V1beta1IdStrategy = { rule?: string; ranges?: V1beta1IDRange[] }

export type V1beta1RuntimeClassStrategyOptions = { allowedRuntimeClassNames: string[]; defaultRuntimeClassName?: string }

export type V1beta1PodSecurityPolicySpec = {
  privileged?: boolean
  defaultAddCapabilities?: string[]
  requiredDropCapabilities?: string[]
  allowedCapabilities?: string[]
  volumes?: string[]
  hostNetwork?: boolean
  hostPorts?: { min: number; max: number }[]
  hostPID?: boolean
  hostIPC?: boolean
  seLinux: { rule?: string; seLinuxOptions?: V1SELinuxOptions }
  runAsUser: V1beta1IdStrategy
  runAsGroup?: V1beta1IdStrategy
  supplementalGroups: V1beta1IdStrategy
  fsGroup: V1beta1IdStrategy
  readOnlyRootFilesystem?: boolean
  defaultAllowPrivilegeEscalation?: boolean
  allowPrivilegeEscalation?: boolean
  allowedHostPaths?: { pathPrefix?: string; readOnly?: boolean }[]
  allowedFlexVolumes?: { driver: string }[]
  allowedCSIDrivers?: { name: string }[]
  allowedUnsafeSysctls?: string[]
  forbiddenSysctls?: string[]
  allowedProcMountTypes?: string[]
  runtimeClass?: V1beta1RuntimeClassStrategyOptions
}

export const typeName = writeTypes({
  package: 'io.k8s.api.policy.v1beta1',
  group: 'policy',
  version: 'v1beta1',
  text: `
kind PodSecurityPolicy
  spec Spec @.PodSecurityPolicySpec o 2
PodSecurityPolicySpec
  privileged Privileged b o 1
  defaultAddCapabilities DefaultAddCapabilities [<v1.Capability>s o 2
  requiredDropCapabilities RequiredDropCapabilities [<v1.Capability>s o 3
  allowedCapabilities AllowedCapabilities [<v1.Capability>s o 4
  volumes Volumes [<v1beta1.FSType>s o 5
  hostNetwork HostNetwork b o 6
  hostPorts HostPorts [@.HostPortRange o 7
  hostPID HostPID b o 8
  hostIPC HostIPC b o 9
  seLinux SELinux @.SELinuxStrategyOptions r 10
  runAsUser RunAsUser @.RunAsUserStrategyOptions r 11
  runAsGroup RunAsGroup *@.RunAsGroupStrategyOptions o 22
  supplementalGroups SupplementalGroups @.SupplementalGroupsStrategyOptions r 12
  fsGroup FSGroup @.FSGroupStrategyOptions r 13
  readOnlyRootFilesystem ReadOnlyRootFilesystem b o 14
  defaultAllowPrivilegeEscalation DefaultAllowPrivilegeEscalation *b o 15
  allowPrivilegeEscalation AllowPrivilegeEscalation *b o 16
  allowedHostPaths AllowedHostPaths [@.AllowedHostPath o 17
  allowedFlexVolumes AllowedFlexVolumes [@.AllowedFlexVolume o 18
  allowedCSIDrivers AllowedCSIDrivers [@.AllowedCSIDriver o 23
  allowedUnsafeSysctls AllowedUnsafeSysctls [s o 19
  forbiddenSysctls ForbiddenSysctls [s o 20
  allowedProcMountTypes AllowedProcMountTypes [<v1.ProcMountType>s o 21
  runtimeClass RuntimeClass *@.RuntimeClassStrategyOptions o 24
AllowedHostPath
  pathPrefix PathPrefix s o 1
  readOnly ReadOnly b o 2
AllowedFlexVolume
  driver Driver s r 1
AllowedCSIDriver
  name Name s r 1
HostPortRange
  min Min i r 1
  max Max i r 2
IDRange
  min Min l r 1
  max Max l r 2
SELinuxStrategyOptions
  rule Rule <v1beta1.SELinuxStrategy>s r 1
  seLinuxOptions SELinuxOptions *@core.SELinuxOptions o 2
RunAsUserStrategyOptions
  rule Rule <v1beta1.RunAsUserStrategy>s r 1
  ranges Ranges [@.IDRange o 2
RunAsGroupStrategyOptions
  rule Rule <v1beta1.RunAsGroupStrategy>s r 1
  ranges Ranges [@.IDRange o 2
SupplementalGroupsStrategyOptions
  rule Rule <v1beta1.SupplementalGroupsStrategyType>s o 1
  ranges Ranges [@.IDRange o 2
FSGroupStrategyOptions
  rule Rule <v1beta1.FSGroupStrategyType>s o 1
  ranges Ranges [@.IDRange o 2
RuntimeClassStrategyOptions
  allowedRuntimeClassNames AllowedRuntimeClassNames [s r 1
  defaultRuntimeClassName DefaultRuntimeClassName *s o 2
`,
})
