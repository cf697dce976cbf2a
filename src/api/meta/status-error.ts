/** Refusals and failures as clients see them: a Status for each reason, in upstream's words. */

import type { V1Status, V1StatusCause, V1StatusDetails } from '#api/meta/v1/types.gen.ts'
import { defined } from '#base/defined.ts'
import { errorMessage } from '#base/error-message.ts'
import { omitEmpty } from '#base/omit-empty.ts'
import { aggregateMessages, fieldErrorText } from './aggregate.ts'
import { cut, type FieldError, furtherErrors, quoted } from './check.ts'
import { type GroupKind, type GroupResource, groupKindText, groupResourceText } from './gvk.ts'

export type StatusReason =
  | 'Unauthorized'
  | 'Forbidden'
  | 'NotFound'
  | 'AlreadyExists'
  | 'Conflict'
  | 'Gone'
  | 'Invalid'
  | 'ServerTimeout'
  | 'StorageReadError'
  | 'Timeout'
  | 'TooManyRequests'
  | 'BadRequest'
  | 'MethodNotAllowed'
  | 'NotAcceptable'
  | 'RequestEntityTooLarge'
  | 'UnsupportedMediaType'
  | 'InternalError'
  | 'Expired'
  | 'ServiceUnavailable'

/** Thrown by whoever refuses; answered as it is. */
export class StatusError extends Error {
  override name = 'StatusError'
  readonly status: V1Status

  constructor(status: V1Status, options?: ErrorOptions) {
    const told = withoutExcess(status)
    super(told.message, options)
    this.status = told
  }

  get code(): number {
    return this.status.code ?? 500
  }

  get reason(): string {
    return this.status.reason ?? ''
  }
}

/** What a client sent is quoted in what is wrong with it, and may be megabytes. */
const longestMessage = 512 * 1024
const longestName = 16 * 1024

function withoutExcess(status: V1Status): V1Status {
  const { message = '', details } = status
  const name = details?.name ?? ''
  if (message.length <= longestMessage && name.length <= longestName) return status
  return {
    ...status,
    message: cut(message, longestMessage),
    ...(name === '' ? {} : { details: { ...details, name: cut(name, longestName) } }),
  }
}

/** Fields stand in the order in which upstream writes them. */
function failure(code: number, reason: StatusReason | '', message: string, details?: V1StatusDetails): StatusError {
  return new StatusError({
    kind: 'Status',
    apiVersion: 'v1',
    metadata: {},
    status: 'Failure',
    message,
    ...omitEmpty({ reason }),
    ...defined({ details }),
    code,
  })
}

/** What is empty is left out; that there are details at all is kept. */
function detailsOf(details: V1StatusDetails): V1StatusDetails {
  const { name, group, kind, uid, causes, retryAfterSeconds } = details
  return {
    ...omitEmpty({ name, group, kind, uid, causes, retryAfterSeconds }),
  }
}

const about = ({ group, resource }: GroupResource, name: string): V1StatusDetails => detailsOf({ name, group, kind: resource })

export function notFound(resource: GroupResource, name: string): StatusError {
  return failure(404, 'NotFound', `${groupResourceText(resource)} ${quoted(name)} not found`, about(resource, name))
}

export function alreadyExists(resource: GroupResource, name: string): StatusError {
  return failure(409, 'AlreadyExists', `${groupResourceText(resource)} ${quoted(name)} already exists`, about(resource, name))
}

/** Every name made from the generateName was taken. */
export function generatedNameTaken(resource: GroupResource, name: string): StatusError {
  return failure(
    409,
    'AlreadyExists',
    `${groupResourceText(resource)} ${quoted(name)} already exists, the server was not able to generate a unique name for the object`,
    { ...about(resource, name), retryAfterSeconds: 1 },
  )
}

export const objectWasModified = 'the object has been modified; please apply your changes to the latest version and try again'

export function conflict(resource: GroupResource, name: string, why: string = objectWasModified): StatusError {
  const message = `Operation cannot be fulfilled on ${groupResourceText(resource)} ${quoted(name)}: ${why}`
  return failure(409, 'Conflict', message, about(resource, name))
}

/** Somebody else owns the fields that were applied. */
export function applyConflict(causes: V1StatusCause[], message: string): StatusError {
  return failure(409, 'Conflict', message, detailsOf({ causes }))
}

export function invalid(kind: GroupKind, name: string, errors: readonly FieldError[]): StatusError {
  const listed = errors.includes(furtherErrors) ? [...errors.filter((error) => error !== furtherErrors), furtherErrors] : errors
  const causes = listed.map(({ type, field, body }) => ({ reason: type, message: body, field }))
  const list = aggregateMessages(listed.map(fieldErrorText))
  const message = `${groupKindText(kind)} ${quoted(name)} is invalid${list === '' ? '' : `: ${list}`}`
  return failure(422, 'Invalid', message, detailsOf({ name, group: kind.group, kind: kind.kind, causes }))
}

export function badRequest(message: string): StatusError {
  return failure(400, 'BadRequest', message)
}

export function unauthorized(message = 'Unauthorized'): StatusError {
  return failure(401, 'Unauthorized', message === '' ? 'not authorized' : message)
}

/** An empty resource stands for a path that is none. */
export function forbidden(resource: GroupResource, name: string, why: string): StatusError {
  const text = groupResourceText(resource)
  const subject = text === '' ? 'forbidden' : name === '' ? `${text} is forbidden` : `${text} ${quoted(name)} is forbidden`
  return failure(403, 'Forbidden', `${subject}: ${why}`, about(resource, name))
}

export function gone(message: string): StatusError {
  return failure(410, 'Gone', message)
}

/** A resource version or continue token that is too old. */
export function expired(message: string): StatusError {
  return failure(410, 'Expired', message)
}

export function methodNotSupported(resource: GroupResource, action: string): StatusError {
  const message = `${action} is not supported on resources of kind ${quoted(groupResourceText(resource))}`
  return failure(405, 'MethodNotAllowed', message, about(resource, ''))
}

export function notAcceptable(accepted: readonly string[]): StatusError {
  return failure(406, 'NotAcceptable', `only the following media types are accepted: ${accepted.join(', ')}`)
}

/** The client asks for a form (`Table`, …) that this object has not, or not in the encoding it wants. */
export function notAcceptableForm(message: string): StatusError {
  return failure(406, 'NotAcceptable', message)
}

export function unsupportedMediaType(accepted: readonly string[]): StatusError {
  const list = accepted.join(', ')
  return failure(415, 'UnsupportedMediaType', `the body of the request was in an unknown format - accepted media types include: ${list}`)
}

export function requestEntityTooLarge(message: string): StatusError {
  return failure(413, 'RequestEntityTooLarge', `Request entity too large: ${message}`)
}

/** The message stands as it is when the client is told when to come back. */
export function tooManyRequests(message: string, retryAfterSeconds?: number): StatusError {
  if (retryAfterSeconds === undefined) return failure(429, 'TooManyRequests', `Too many requests: ${message}`)
  return failure(429, 'TooManyRequests', message, detailsOf({ retryAfterSeconds }))
}

/** The operation could not be started in time; it may be repeated. */
export function serverTimeout(resource: GroupResource, operation: string, retryAfterSeconds: number): StatusError {
  const message = `The ${operation} operation against ${groupResourceText(resource)} could not be completed at this time, please try again.`
  return failure(500, 'ServerTimeout', message, detailsOf({ ...about(resource, operation), retryAfterSeconds }))
}

/** The operation took too long; it may have happened. */
export function timeout(message: string, retryAfterSeconds = 0): StatusError {
  return failure(504, 'Timeout', `Timeout: ${message}`, detailsOf({ retryAfterSeconds }))
}

export function internalError(message: string): StatusError {
  return failure(500, 'InternalError', `Internal error occurred: ${message}`, { causes: [{ message }] })
}

export function serviceUnavailable(message: string): StatusError {
  return failure(503, 'ServiceUnavailable', message)
}

/** A failure nobody gave a reason for. */
export function unknownFailure(message: string, code = 500): StatusError {
  return failure(code, '', message)
}

/** The Status of a plain success, as deletes answer. */
export function success(details?: V1StatusDetails): V1Status {
  return { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Success', ...defined({ details: details && detailsOf(details) }) }
}

/** What an error becomes at the HTTP edge. */
export function statusOf(error: unknown): V1Status {
  if (error instanceof StatusError) return error.status
  return unknownFailure(errorMessage(error)).status
}
