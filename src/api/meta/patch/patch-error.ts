/** What a client did wrong with a patch, in the terms the HTTP edge answers in. */
export type PatchFailure = 'badRequest' | 'unprocessable' | 'tooLarge' | 'internal'

type Answer = { code: number; reason: string | undefined }

const answers: Readonly<Record<PatchFailure, Answer>> = {
  badRequest: { code: 400, reason: 'BadRequest' },
  tooLarge: { code: 413, reason: 'RequestEntityTooLarge' },
  unprocessable: { code: 422, reason: 'Invalid' },
  // Patches that no directive or schema allows are answered with 500 and no reason, as upstream does.
  internal: { code: 500, reason: undefined },
}

export class PatchError extends Error {
  readonly failure: PatchFailure

  constructor(failure: PatchFailure, message: string) {
    super(message)
    this.name = 'PatchError'
    this.failure = failure
  }

  get code(): number {
    return answers[this.failure].code
  }

  get reason(): string | undefined {
    return answers[this.failure].reason
  }

  /** What the Status says. A patch that does not fit its object is refused without the particulars. */
  get answer(): string {
    if (this.failure === 'unprocessable') return 'the server rejected our request due to an error in our request'
    if (this.failure === 'tooLarge') return `Request entity too large: ${this.message}`
    return this.message
  }
}
