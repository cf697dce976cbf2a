import { validateCoordinatedStrategy } from '#api/coordination/v1/coordinated-strategy.ts'
import { LeaseCandidate } from '#api/coordination/v1beta1/kinds.gen.ts'
import type { V1beta1LeaseCandidateSpec } from '#api/coordination/v1beta1/types.gen.ts'
import type { Check } from '#api/meta/check.ts'
import { ageColumn, nameColumn } from '#api/meta/columns.ts'
import { configMapKey } from '#api/meta/formats.ts'
import { mustNotChange } from '#api/meta/immutable.ts'
import { compareSemver, parseSemver, type Semver } from '#api/meta/semver.ts'
import { defineResource } from '#api/resource.ts'

export const leaseCandidateResource = defineResource(LeaseCandidate, {
  featureGate: 'CoordinatedLeaderElection',
  nameRule: configMapKey,
  finalizers: 'any',
  allowCreateOnUpdate: true,
  defaultPropagation: 'Background',

  defaults(candidate) {
    candidate.spec ??= {} as V1beta1LeaseCandidateSpec
  },
  validate: (_object, check) => validateSpec(check.at('spec')),
  validateUpdate(_next, prev, check) {
    validateSpec(check.at('spec'))
    mustNotChange(check.at('spec').at('leaseName'), prev.spec.leaseName)
  },

  columns: [
    nameColumn,
    { name: 'LeaseName', type: 'string', description: { field: 'LeaseCandidateSpec.leaseName' }, cell: ({ spec }) => spec.leaseName },
    { name: 'BinaryVersion', type: 'string', description: '', cell: ({ spec }) => spec.binaryVersion },
    { name: 'EmulationVersion', type: 'string', description: '', cell: ({ spec }) => spec.emulationVersion ?? '' },
    ageColumn,
  ],
})

function validateSpec(check: Check<V1beta1LeaseCandidateSpec>): void {
  const spec = check.value
  const { leaseName, emulationVersion, binaryVersion, strategy } = spec
  if (!leaseName) check.at('leaseName').required()
  const emulation = emulationVersion ? validVersion(check.at('emulationVersion').present) : undefined
  let binary: Semver | undefined
  if (!binaryVersion) check.at('binaryVersion').required()
  else binary = validVersion(check.at('binaryVersion'))
  // A version that cannot be read counts as 0.0.0.
  if (binaryVersion && emulation && (binary === undefined || compareSemver(binary, emulation) < 0) && !isZero(emulation)) {
    check.at('binaryVersion').invalid('must be greater than or equal to `emulationVersion`')
  }
  if (!strategy) {
    check.at('strategy').required()
    return
  }
  if (strategy === 'OldestEmulationVersion' && (emulation === undefined || isZero(emulation))) {
    check.at('emulationVersion').required("must be specified when `strategy` is 'OldestEmulationVersion'")
  }
  validateCoordinatedStrategy(check.at('strategy'))
}

function validVersion(check: Check<string>): Semver | undefined {
  const text = check.value
  const version = parseSemver(text)
  if (!version) check.invalid('must be a valid semantic version')
  return version
}

const isZero = (version: Semver) => version.major === 0n && version.minor === 0n && version.patch === 0n && version.prerelease.length === 0
