/** Reads doc comments from the typings that the official client's generator writes. */
import { withLineBreaks } from './line-breaks.ts'

export type TypeDescriptions = ReadonlyMap<string, string>

/** What the client may call a type of the schema: with its group where the name alone is not enough, else without. */
export function typingsNames(schemaName: string): string[] {
  const [group = '', version = '', name = ''] = schemaName.split('.').slice(-3)
  const short = `${capitalized(version)}${name}`
  return [`${capitalized(group)}${short}`, short]
}

/** By the JSON names of the fields; the type's own description is under the empty name. */
export function describedIn(typings: string, fields: readonly string[]): TypeDescriptions {
  const descriptions = new Map<string, string>()
  const own = /\/\*\*\n\* (.*)\n\*\/\nexport declare class/.exec(typings)?.[1]
  if (own !== undefined) descriptions.set('', text(own))
  const byProperty = new Map<string, string>()
  for (const [, comment = '', property = ''] of typings.matchAll(/ {4}\/\*\*\n {4}\* (.*)\n {4}\*\/\n {4}'([^']+)'\??:/g)) {
    byProperty.set(property, text(comment))
  }
  for (const field of fields) {
    const found = propertyNames(field).flatMap((property) => byProperty.get(property) ?? [])[0]
    if (found !== undefined) descriptions.set(field, found)
  }
  return descriptions
}

/** Words of JavaScript get an underscore, dashes become some. */
function propertyNames(field: string): string[] {
  return [field, `_${field}`, field.replaceAll('-', '_'), `_${field.replace(/^\$/, '')}`]
}

function text(comment: string): string {
  return withLineBreaks(
    comment
      .replace(/\\(["'\\])/g, '$1')
      .replaceAll('/_*', '/*')
      .replaceAll('*_/', '*/'),
  )
}

function capitalized(word: string): string {
  return word.charAt(0).toUpperCase() + word.slice(1)
}
