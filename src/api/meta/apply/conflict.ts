/** An apply that would change what others own. */
import { quoted } from '#api/meta/check.ts'
import { applyConflict, StatusError } from '#api/meta/status-error.ts'
import type { V1StatusCause } from '#api/meta/v1/types.gen.ts'
import { type FieldSet, hasPath, pathsOf } from './field-set.ts'
import { identityOf, type ManagedEntry } from './managed-entries.ts'
import { compareTexts, type PathElement, printedPath } from './path-element.ts'

export type Conflict = { readonly owner: ManagedEntry; readonly path: readonly PathElement[] }

/** Owners in order of their names, the fields of each in order of their paths. */
export class ApplyConflictError extends StatusError {
  override name = 'ApplyConflictError'
  readonly conflicts: readonly Conflict[]

  constructor(conflicts: readonly Conflict[]) {
    super(applyConflict(conflicts.map(causeOf), conflictMessage(conflicts)).status)
    this.conflicts = conflicts
  }

  /** What is left of it when these fields may be taken. */
  without(allowed: FieldSet): ApplyConflictError | undefined {
    const left = this.conflicts.filter(({ path }) => !hasPath(allowed, path))
    return left.length > 0 ? new ApplyConflictError(left) : undefined
  }
}

export function conflictError(owned: readonly { owner: ManagedEntry; fields: FieldSet }[]): ApplyConflictError {
  const sorted = [...owned].sort((left, right) => compareTexts(identityOf(left.owner), identityOf(right.owner)))
  return new ApplyConflictError(sorted.flatMap(({ owner, fields }) => pathsOf(fields).map((path) => ({ owner, path }))))
}

function causeOf({ owner, path }: Conflict): V1StatusCause {
  return { reason: 'FieldManagerConflict', message: `conflict with ${shownOwner(owner)}`, field: printedPath(path) }
}

function conflictMessage(conflicts: readonly Conflict[]): string {
  const [first] = conflicts
  if (first !== undefined && conflicts.length === 1) {
    return `Apply failed with 1 conflict: conflict with ${shownOwner(first.owner)}: ${printedPath(first.path)}`
  }
  const lines: string[] = []
  let owner: ManagedEntry | undefined
  for (const conflict of conflicts) {
    if (conflict.owner !== owner) lines.push(`conflicts with ${shownOwner(conflict.owner)}:`)
    owner = conflict.owner
    lines.push(`- ${printedPath(conflict.path)}`)
  }
  return `Apply failed with ${conflicts.length} conflicts: ${lines.join('\n')}`
}

function shownOwner({ manager, subresource, operation, apiVersion }: ManagedEntry): string {
  const name = subresource === '' ? quoted(manager) : `${quoted(manager)} with subresource ${quoted(subresource)}`
  return operation === 'Update' ? `${name} using ${apiVersion}` : name
}
