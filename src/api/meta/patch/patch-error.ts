/** What is wrong with a patch. */
import { genericServerResponse } from '#api/meta/server-response.ts'
import { badRequest, requestEntityTooLarge, StatusError, unknownFailure } from '#api/meta/status-error.ts'
import type { V1Status } from '#api/meta/v1/types.gen.ts'

/** `internal` is what upstream answers with 500 and no reason: directives and keys that no schema allows. */
export type PatchFailure = 'badRequest' | 'tooLarge' | 'unprocessable' | 'internal'

const statuses: Readonly<Record<PatchFailure, (detail: string) => V1Status>> = {
  badRequest: (detail) => badRequest(detail).status,
  tooLarge: (detail) => requestEntityTooLarge(detail).status,
  unprocessable: (message) =>
    genericServerResponse({ code: 422, verb: '', resource: { group: '', resource: '' }, name: '', message }).status,
  internal: (detail) => unknownFailure(detail).status,
}

export class PatchError extends StatusError {
  override name = 'PatchError'
  /** In full. A client whose patch does not fit the object is refused without the particulars. */
  readonly detail: string

  constructor(failure: PatchFailure, detail: string) {
    super(statuses[failure](detail))
    this.detail = detail
  }
}
