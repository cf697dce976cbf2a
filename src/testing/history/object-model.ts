import type { Model } from '#testing/history/linearizability.ts'

/** What clients do with one object. Each write has a value that no other has; one without `ifRevision` is on no condition. */
export type ObjectCall =
  | { verb: 'create'; value: string }
  | { verb: 'update'; value: string; ifRevision?: number }
  | { verb: 'delete'; ifRevision?: number }
  | { verb: 'get' }

/** `unknown`: it may have taken place. A delete does not tell its revision. */
export type ObjectResult =
  | { kind: 'written'; revision: number }
  | { kind: 'deleted' }
  | { kind: 'found'; value: string; revision: number }
  | { kind: 'absent' }
  | { kind: 'exists' }
  | { kind: 'conflict' }
  | { kind: 'unknown' }

/** Undefined: it is not there. A revision that nobody was told is 0, until somebody is. */
export type ObjectState = { value: string; revision: number } | undefined

/** An object of the API, as a register with compare and swap by its resourceVersion. */
export const objectModel: Model<ObjectState, ObjectCall, ObjectResult> = {
  initial: undefined,
  text: (state) => (state === undefined ? '-' : `${state.value}@${state.revision}`),
  step(state, call, result) {
    if (result.kind === 'unknown') return [...after(state, call)]
    switch (call.verb) {
      case 'get':
        return seen(state, result)
      case 'create':
        if (result.kind === 'exists') return state === undefined ? [] : [state]
        return result.kind === 'written' && state === undefined ? [{ value: call.value, revision: result.revision }] : []
      case 'update':
        if (result.kind === 'absent') return state === undefined ? [undefined] : []
        if (result.kind === 'conflict') return isOther(state, call.ifRevision) ? [state] : []
        return result.kind === 'written' && holds(state, call.ifRevision) ? [{ value: call.value, revision: result.revision }] : []
      case 'delete':
        if (result.kind === 'absent') return state === undefined ? [undefined] : []
        if (result.kind === 'conflict') return isOther(state, call.ifRevision) ? [state] : []
        return result.kind === 'deleted' && holds(state, call.ifRevision) ? [undefined] : []
    }
  },
}

/** What a write leaves if it took place here; where it could not have, nothing is left. */
function* after(state: ObjectState, call: ObjectCall): Generator<ObjectState> {
  if (call.verb === 'create' && state === undefined) yield { value: call.value, revision: 0 }
  if (call.verb === 'update' && holds(state, call.ifRevision)) yield { value: call.value, revision: 0 }
  if (call.verb === 'delete' && holds(state, call.ifRevision)) yield undefined
}

/** A state whose revision nobody was told may have this one. */
const holds = (state: ObjectState, revision: number | undefined): boolean =>
  state !== undefined && (revision === undefined || state.revision === revision || state.revision === 0)

const isOther = (state: ObjectState, revision: number | undefined): boolean =>
  state !== undefined && revision !== undefined && state.revision !== revision

function seen(state: ObjectState, result: ObjectResult): ObjectState[] {
  if (result.kind === 'absent') return state === undefined ? [undefined] : []
  if (result.kind !== 'found' || state === undefined || state.value !== result.value) return []
  return state.revision === 0 || state.revision === result.revision ? [{ value: state.value, revision: result.revision }] : []
}
