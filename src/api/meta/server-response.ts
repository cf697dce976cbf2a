/** What a client makes of an answer that is no Status, and how it tells failures apart. */

import type { V1Status } from '#api/meta/v1/types.gen.ts'
import { defined } from '#base/defined.ts'
import { omitEmpty } from '#base/omit-empty.ts'
import { quoted } from './check.ts'
import { type GroupResource, groupResourceText } from './gvk.ts'
import { StatusError, type StatusReason } from './status-error.ts'

export type ServerResponse = {
  code: number
  verb: string
  resource: GroupResource
  name: string
  message: string
  retryAfterSeconds?: number
  /** The body was not what the client understands. */
  isUnexpected?: boolean
}

const bare: Record<number, [StatusReason, string]> = {
  400: ['BadRequest', 'the server rejected our request for an unknown reason'],
  401: ['Unauthorized', 'the server has asked for the client to provide credentials'],
  404: ['NotFound', 'the server could not find the requested resource'],
  405: ['MethodNotAllowed', 'the server does not allow this method on the requested resource'],
  422: ['Invalid', 'the server rejected our request due to an error in our request'],
  429: ['TooManyRequests', 'the server has received too many requests and has asked us to try again later'],
  503: ['ServiceUnavailable', 'the server is currently unable to handle the request'],
  504: ['Timeout', 'the server was unable to return a response in the time allotted, but may still be processing the request'],
}

function meaning({ code, verb, message }: ServerResponse): [StatusReason | '', string] {
  const known = bare[code]
  if (known !== undefined) return known
  if (code === 409) return [verb.toUpperCase() === 'POST' ? 'AlreadyExists' : 'Conflict', 'the server reported a conflict']
  if (code === 403) return ['Forbidden', message]
  if (code === 415) return ['UnsupportedMediaType', message]
  if (code === 406) {
    const says = message !== '' && message !== 'unknown'
    return ['NotAcceptable', says ? message : 'the server was unable to respond with a content type that the client supports']
  }
  if (code >= 500) return ['InternalError', `an error on the server (${quoted(message)}) has prevented the request from succeeding`]
  return ['', `the server responded with the status code ${code} but did not return more information`]
}

export function genericServerResponse(response: ServerResponse): StatusError {
  const { code, verb, resource, name, message: serverMessage, retryAfterSeconds, isUnexpected } = response
  const [reason, text] = meaning(response)
  const subject = groupResourceText(resource)
  const message = subject === '' ? text : `${text} (${[verb.toLowerCase(), subject, name].filter(Boolean).join(' ')})`
  const status: V1Status = { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Failure', message }
  if (reason !== '') status.reason = reason
  status.details = {
    ...omitEmpty({ name, group: resource.group, kind: resource.resource }),
    ...defined({ causes: isUnexpected ? [{ reason: 'UnexpectedServerResponse', message: serverMessage }] : undefined }),
    ...omitEmpty({ retryAfterSeconds }),
  }
  status.code = code
  return new StatusError(status)
}

const codeOf: Record<StatusReason, number> = {
  Unauthorized: 401,
  Forbidden: 403,
  NotFound: 404,
  AlreadyExists: 0,
  Conflict: 409,
  Gone: 410,
  Invalid: 422,
  ServerTimeout: 0,
  StorageReadError: 0,
  Timeout: 504,
  TooManyRequests: 429,
  BadRequest: 400,
  MethodNotAllowed: 405,
  NotAcceptable: 406,
  RequestEntityTooLarge: 413,
  UnsupportedMediaType: 415,
  InternalError: 500,
  Expired: 0,
  ServiceUnavailable: 503,
}

/** By reason; by code where the server gave a reason nobody knows. */
export function isReason(error: unknown, reason: StatusReason): boolean {
  if (!(error instanceof StatusError)) return false
  if (error.reason === reason) return true
  const sameCode = error.code === codeOf[reason]
  if (reason === 'TooManyRequests' || reason === 'RequestEntityTooLarge') return sameCode
  return sameCode && !(error.reason in codeOf)
}

export const isNotFound = (error: unknown): boolean => isReason(error, 'NotFound')
export const isAlreadyExists = (error: unknown): boolean => isReason(error, 'AlreadyExists')
export const isConflict = (error: unknown): boolean => isReason(error, 'Conflict')
export const isForbidden = (error: unknown): boolean => isReason(error, 'Forbidden')
export const isInvalid = (error: unknown): boolean => isReason(error, 'Invalid')
/** The resource version or continue token is too old: list again. */
export const isExpired = (error: unknown): boolean => isReason(error, 'Expired') || isReason(error, 'Gone')

/** For `catch`: undefined where the object is not there; any other failure goes on. */
export function ignoreNotFound(error: unknown): undefined {
  if (!isNotFound(error)) throw error
}

/** For `catch`: undefined where the object is there already; any other failure goes on. */
export function ignoreAlreadyExists(error: unknown): undefined {
  if (!isAlreadyExists(error)) throw error
}

/** How long the server asks to wait before trying again. */
export function retryAfterSeconds(error: unknown): number | undefined {
  if (!(error instanceof StatusError) || error.status.details === undefined) return undefined
  const seconds = error.status.details.retryAfterSeconds ?? 0
  return seconds > 0 || error.reason === 'ServerTimeout' ? seconds : undefined
}
