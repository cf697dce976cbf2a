/** What flags such as `--dry-run`, `--validate` and `--field-manager` mean for a request. */
import type { Call } from './call.ts'
import { CliError } from './cli-error.ts'

export type DryRun = 'none' | 'client' | 'server'

export function dryRunOf({ flags, host }: Call): DryRun {
  if (!flags.has('dry-run')) return 'none'
  const text = flags.text('dry-run')
  switch (text) {
    case 'none':
    case 'client':
    case 'server':
      return text
    case 'unchanged':
      host.complain('W: --dry-run is deprecated and can be replaced with --dry-run=client.\n')
      return 'client'
    default:
      if (/^(?:true|1|t|T|TRUE|True)$/.test(text)) {
        host.complain(`W: --dry-run=${text} is deprecated (boolean value) and can be replaced with --dry-run=client.\n`)
        return 'client'
      }
      if (/^(?:false|0|f|F|FALSE|False)$/.test(text)) {
        host.complain(`W: --dry-run=${text} is deprecated (boolean value) and can be replaced with --dry-run=none.\n`)
        return 'none'
      }
      throw new CliError(`Invalid dry-run value (${text}). Must be "none", "server", or "client".`)
  }
}

export const dryRunSuffix = (dryRun: DryRun): string =>
  dryRun === 'client' ? ' (dry run)' : dryRun === 'server' ? ' (server dry run)' : ''

function fieldValidationOf({ flags }: Call): string {
  const text = flags.text('validate')
  switch (text) {
    case 'strict':
    case 'true':
    case 'TRUE':
    case 'True':
      return 'Strict'
    case 'warn':
      return 'Warn'
    case 'ignore':
    case 'false':
    case 'FALSE':
    case 'False':
      return 'Ignore'
    default:
      throw new CliError(`invalid - validate option ${JSON.stringify(text)}; must be one of: strict (or true), warn, ignore (or false)`)
  }
}

/** The query of a write. */
export function writeQuery(
  call: Call,
  dryRun: DryRun,
  { validates = true }: { validates?: boolean } = {},
): Record<string, string | undefined> {
  const { flags } = call
  return {
    fieldManager: flags.has('field-manager') ? flags.text('field-manager') : undefined,
    dryRun: dryRun === 'server' ? 'All' : undefined,
    fieldValidation: validates && flags.has('validate') ? fieldValidationOf(call) : undefined,
  }
}

const lastAppliedName = 'kubectl.kubernetes.io/last-applied-configuration'

/** The object as it was written, for the next apply to compare with. */
export function withLastApplied<T extends { metadata?: { annotations?: Record<string, string> } }>(object: T): T {
  return {
    ...object,
    metadata: { ...object.metadata, annotations: { ...object.metadata?.annotations, [lastAppliedName]: lastAppliedText(object) } },
  }
}

/** The same for an object in Go's order. */
export function withTypedLastApplied<T extends { metadata?: { annotations?: Record<string, string> } }>(object: T): T {
  const text = JSON.stringify(object).replace(/[<>&\u2028\u2029]/g, escapedChar)
  return { ...object, metadata: { ...object.metadata, annotations: { ...object.metadata?.annotations, [lastAppliedName]: `${text}\n` } } }
}

const escapedChar = (char: string): string => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`

const lastAppliedText = (object: { metadata?: { annotations?: Record<string, string> } }): string =>
  `${goJson(withoutLastApplied(object))}\n`

/** There are annotations afterwards, if only none: an object without would lose those that others have set. */
export function withoutLastApplied<T extends { metadata?: { annotations?: Record<string, string> } }>(object: T): T {
  const { [lastAppliedName]: _own, ...annotations } = object.metadata?.annotations ?? {}
  return { ...object, metadata: { ...object.metadata, annotations } }
}

export const lastAppliedOf = (object: { metadata?: { annotations?: Record<string, string> } }): string | undefined =>
  object.metadata?.annotations?.[lastAppliedName]

/** Sorted keys, and angle brackets escaped, as Go writes maps. */
export function goJson(value: unknown): string {
  return JSON.stringify(sortedDeep(value)).replace(/[<>&\u2028\u2029]/g, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`)
}

function sortedDeep(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sortedDeep)
  if (typeof value !== 'object' || value === null) return value
  const sorted: Record<string, unknown> = {}
  for (const key of Object.keys(value).sort()) sorted[key] = sortedDeep((value as Record<string, unknown>)[key])
  return sorted
}

export { lastAppliedName }

export type Cascade = 'Background' | 'Foreground' | 'Orphan'

/** What becomes of an object's dependents; flags that were booleans once are told of. */
export function cascadeOf(text: string, complain: (line: string) => void): Cascade {
  switch (text) {
    case 'background':
      return 'Background'
    case 'foreground':
      return 'Foreground'
    case 'orphan':
      return 'Orphan'
    case 'true':
      complain('warning: --cascade=true is deprecated (boolean value) and can be replaced with --cascade=background.\n')
      return 'Background'
    case 'false':
      complain('warning: --cascade=false is deprecated (boolean value) and can be replaced with --cascade=orphan.\n')
      return 'Orphan'
    default:
      throw new CliError(`invalid cascade value (${text}). Must be "background", "foreground", or "orphan"`)
  }
}
