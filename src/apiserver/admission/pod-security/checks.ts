/** The rules of the standards, in the order in which messages give them, and what a pod breaks of them. */
import type { V1PodSpec } from '#api/core/v1/types.gen.ts'
import type { V1ObjectMeta } from '#api/meta/v1/types.gen.ts'
import type { CheckPod, PodCheck, Violation } from '#apiserver/admission/pod-security/checks/check.ts'
import {
  hostNamespaces,
  hostPathVolumes,
  hostPorts,
  hostProbesAndHostLifecycle,
  windowsHostProcess,
} from '#apiserver/admission/pod-security/checks/host.ts'
import { procMount, procMountRestricted, sysctls } from '#apiserver/admission/pod-security/checks/kernel.ts'
import {
  allowPrivilegeEscalation,
  capabilitiesBaseline,
  capabilitiesRestricted,
  privileged,
} from '#apiserver/admission/pod-security/checks/privileges.ts'
import {
  appArmorProfile,
  seccompProfileBaseline,
  seccompProfileRestricted,
  seLinuxOptions,
} from '#apiserver/admission/pod-security/checks/profiles.ts'
import { runAsNonRoot, runAsUser } from '#apiserver/admission/pod-security/checks/users.ts'
import { restrictedVolumes } from '#apiserver/admission/pod-security/checks/volumes.ts'
import type { Level, LevelVersion } from '#apiserver/admission/pod-security/level-version.ts'

export const podChecks: readonly PodCheck[] = [
  appArmorProfile,
  capabilitiesBaseline,
  hostNamespaces,
  hostPathVolumes,
  hostPorts,
  hostProbesAndHostLifecycle,
  privileged,
  procMount,
  seLinuxOptions,
  seccompProfileBaseline,
  sysctls,
  windowsHostProcess,

  allowPrivilegeEscalation,
  capabilitiesRestricted,
  procMountRestricted,
  restrictedVolumes,
  runAsNonRoot,
  runAsUser,
  seccompProfileRestricted,
]

/** The last version in which a rule changed; nothing differs from there on. */
const newestMinor = Math.max(...podChecks.flatMap(({ versions }) => versions.map(({ since }) => since)))

const checksOf = new Map<string, readonly CheckPod[]>()

/** Empty if the pod is fine. */
export function violations({ level, minor }: LevelVersion, spec: V1PodSpec, metadata: V1ObjectMeta): Violation[] {
  if (level === 'privileged') return []
  const effective = Math.min(minor, newestMinor)
  const key = `${level}:${effective}`
  let checks = checksOf.get(key)
  if (checks === undefined) {
    checks = checksFor(level, effective)
    checksOf.set(key, checks)
  }
  const found: Violation[] = []
  for (const check of checks) {
    const violation = check(spec, metadata)
    if (violation !== undefined) found.push(violation)
  }
  return found
}

/** The restricted standard has the rules of the baseline too. */
function checksFor(level: Level, minor: number): CheckPod[] {
  const inForce = podChecks.flatMap((check) => {
    const version = check.versions.findLast(({ since }) => since <= minor)
    return version === undefined || (level === 'baseline' && check.level === 'restricted') ? [] : [{ id: check.id, ...version }]
  })
  const overridden = new Set(inForce.flatMap(({ overrides = [] }) => overrides))
  return inForce.filter(({ id }) => !overridden.has(id)).map(({ check }) => check)
}

export const detailsText = (found: readonly Violation[]): string =>
  found.map(({ reason, detail }) => (detail === '' ? reason : `${reason} (${detail})`)).join(', ')

export const reasonsText = (found: readonly Violation[]): string => found.map(({ reason }) => reason).join(', ')
