import { headerChoices } from '#apiserver/http/header-choices.ts'

/** Whether the client takes compressed answers. `gzip;q=0` says it does not. */
export function takesGzip(acceptEncoding: string | string[] | undefined): boolean {
  if (acceptEncoding === undefined) return false
  const header = headerChoices(typeof acceptEncoding === 'string' ? acceptEncoding : acceptEncoding.join(','))
  if (header === 'gzip') return true
  return header.split(',').some((clause) => {
    const [coding = '', ...parameters] = clause.split(';').map((part) => part.trim())
    return coding.toLowerCase() === 'gzip' && !parameters.some((parameter) => /^q=0(\.0*)?$/.test(parameter))
  })
}
