import type { RequestContext } from '#apiserver/http/context.ts'

/** What a client that was not let in had tried. */
export function attemptedCredentials({ headers, query, exchange }: RequestContext): string {
  const methods: string[] = []
  const [scheme = '', rest] = (headers.authorization ?? '').trim().split(' ')
  if (rest !== undefined && scheme.toLowerCase() === 'basic') methods.push('basic')
  if (rest !== undefined && scheme.toLowerCase() === 'bearer') methods.push('bearer')
  if ((query.get('access_token') ?? '').trim() !== '') methods.push('access_token')
  if (exchange.connection.clientCertificate !== undefined) methods.push('x509')
  return methods.length === 0 ? 'Authentication failed, no credentials provided' : `Authentication failed, attempted: ${methods.join(', ')}`
}
