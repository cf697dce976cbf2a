import { bundledText } from '#base/bundled-files.ts'
import { Descriptions } from './descriptions.ts'

let descriptions: Descriptions | undefined

/** As `Descriptions.of`, from the files that come with the program. */
export function describe(typeName: string, field = ''): string {
  descriptions ??= new Descriptions(bundledText)
  return descriptions.of(typeName, field)
}
