import { bool, int, string, struct } from '#api/cel/types/cel-type.ts'
import { declare, type FunctionDeclaration, member, plain } from '#api/cel/types/declarations.ts'
import { CelError, CelObject, type Value } from '#api/cel/values/value.ts'
import { compareSemver, parseSemver, type Semver } from '#api/meta/semver.ts'

export const semverType = struct('kubernetes.Semver')

class SemverValue extends CelObject {
  override readonly type = semverType
  readonly version: Semver

  constructor(version: Semver) {
    super()
    this.version = version
  }
  override equals(other: Value): boolean {
    return other instanceof SemverValue && compareSemver(this.version, other.version) === 0
  }
}

/** Without a `v` and leading zeros, with the numbers that were left out. */
function normalized(text: string): string {
  const parts = text.replace(/^v/, '').split('.')
  const numbers = parts.length > 3 ? [...parts.slice(0, 2), parts.slice(2).join('.')] : parts
  const trimmed = numbers.map((part) => (part.length > 1 ? part.replace(/^0+(?=[0-9])/, '') : part))
  if (trimmed.length < 3 && /[+-]/.test(trimmed[trimmed.length - 1] ?? ''))
    throw new CelError('short version cannot contain PreRelease/Build meta data')
  while (trimmed.length < 3) trimmed.push('0')
  return trimmed.join('.')
}

function whyNot(text: string): string {
  if (text === '') return 'Version string empty'
  const parts = text.split('.')
  if (parts.length < 3) return 'No Major.Minor.Patch elements found'
  for (const part of parts.slice(0, 2)) {
    if (!/^[0-9]+$/.test(part))
      return `Invalid character(s) found in ${part === parts[0] ? 'major' : 'minor'} number ${JSON.stringify(part)}`
    if (/^0[0-9]/.test(part))
      return `${part === parts[0] ? 'Major' : 'Minor'} number must not contain leading zeroes ${JSON.stringify(part)}`
  }
  const patch = parts.slice(2).join('.').split(/[-+]/)[0] ?? ''
  if (/^0[0-9]/.test(patch)) return `Patch number must not contain leading zeroes ${JSON.stringify(patch)}`
  return `Invalid character(s) found in patch number ${JSON.stringify(patch)}`
}

export function parsedSemver(text: string, isLenient = false): SemverValue {
  const strict = isLenient ? normalized(text) : text
  const version = parseSemver(strict)
  if (version === undefined) throw new CelError(whyNot(strict))
  return new SemverValue(version)
}

function isSemver(text: string, isLenient: boolean): boolean {
  try {
    parsedSemver(text, isLenient)
    return true
  } catch {
    return false
  }
}

const version = (value: Value | undefined): Semver => (value as SemverValue).version
const order = (one: Value | undefined, other: Value | undefined): number => Math.sign(compareSemver(version(one), version(other)))
const both = [semverType, semverType]

export const semversLibrary: readonly FunctionDeclaration[] = [
  declare(
    'semver',
    plain('string_to_semver', [string], semverType, (text) => parsedSemver(text as string)),
    plain('string_bool_to_semver', [string, bool], semverType, (text, isLenient) => parsedSemver(text as string, isLenient as boolean)),
  ),
  declare(
    'isSemver',
    plain('is_semver_string', [string], bool, (text) => isSemver(text as string, false)),
    plain('is_semver_string_bool', [string, bool], bool, (text, isLenient) => isSemver(text as string, isLenient as boolean)),
  ),
  declare(
    'isGreaterThan',
    member('semver_is_greater_than', both, bool, (one, other) => order(one, other) > 0),
  ),
  declare(
    'isLessThan',
    member('semver_is_less_than', both, bool, (one, other) => order(one, other) < 0),
  ),
  declare(
    'compareTo',
    member('semver_compare_to', both, int, (one, other) => BigInt(order(one, other))),
  ),
  declare(
    'major',
    member('semver_major', [semverType], int, (value) => version(value).major),
  ),
  declare(
    'minor',
    member('semver_minor', [semverType], int, (value) => version(value).minor),
  ),
  declare(
    'patch',
    member('semver_patch', [semverType], int, (value) => version(value).patch),
  ),
]
