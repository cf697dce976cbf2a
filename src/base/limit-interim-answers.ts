import type { ClientRequest } from 'node:http'

/** As Go's clients take them. */
const mostInterimAnswers = 5

/** Breaks a request off whose server says without end that the answer will come (`102 Processing` and the like). */
export function limitInterimAnswers(outgoing: ClientRequest): void {
  let count = 0
  outgoing.on('information', () => {
    if (++count > mostInterimAnswers) outgoing.destroy(new Error('net/http: too many 1xx informational responses'))
  })
}
