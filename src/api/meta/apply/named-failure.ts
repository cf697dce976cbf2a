import { PatchError } from '#api/meta/patch/patch-error.ts'
import { StatusError } from '#api/meta/status-error.ts'
import { errorMessage } from '#base/error-message.ts'

/** Says what was tried when it fails. */
export function named<T>(attempt: string, action: () => T): T {
  try {
    return action()
  } catch (error) {
    if (error instanceof StatusError) throw error
    throw new PatchError('internal', `${attempt}: ${errorMessage(error)}`)
  }
}
