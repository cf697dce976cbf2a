/** An apply that would change what others own. */
import { quoted } from '#api/meta/check.ts'
import { type FieldSet, hasPath, pathsOf, setOfPaths } from './field-set.ts'
import { identityOf, type ManagedEntry } from './managed-entries.ts'
import { compareTexts, type PathElement, printedPath } from './path-element.ts'

export type ConflictCause = { readonly reason: 'FieldManagerConflict'; readonly message: string; readonly field: string }

export type Conflict = { readonly owner: ManagedEntry; readonly path: readonly PathElement[] }

/** Answered with 409 and the causes. Owners in order of their names, the fields of each in order of their paths. */
export class ApplyConflictError extends Error {
  readonly code = 409
  readonly reason = 'Conflict'
  readonly conflicts: readonly Conflict[]

  constructor(conflicts: readonly Conflict[]) {
    super(conflictMessage(conflicts))
    this.name = 'ApplyConflictError'
    this.conflicts = conflicts
  }

  get causes(): ConflictCause[] {
    return this.conflicts.map(({ owner, path }) => ({
      reason: 'FieldManagerConflict',
      message: `conflict with ${shownOwner(owner)}`,
      field: printedPath(path),
    }))
  }

  /** The fields in question. */
  get set(): FieldSet {
    return setOfPaths(this.conflicts.map(({ path }) => path))
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
