/** What parameters of operations mean, in the words of the official client's typings. */
import { withLineBreaks } from '#api/schema/line-breaks.ts'
import { bundledText } from '#base/bundled-files.ts'

/** Where a package keeps them; a checkout has the typings themselves. */
export const parameterTextsPath = 'lib/parameters.json'

export type ParameterTexts = Record<string, Record<string, string>>

/** The operations whose parameters are described, and the files of the typings that have them. */
const describedOperations: Readonly<Record<string, readonly string[]>> = {
  PolicyV1Api: [
    'listNamespacedPodDisruptionBudget',
    'createNamespacedPodDisruptionBudget',
    'patchNamespacedPodDisruptionBudget',
    'deleteCollectionNamespacedPodDisruptionBudget',
    'readNamespacedPodDisruptionBudget',
  ],
  CoreV1Api: [
    'readNamespacedPodLog',
    'connectGetNamespacedPodExec',
    'connectGetNamespacedPodAttach',
    'connectGetNamespacedPodPortforward',
    'connectGetNamespacedPodProxy',
    'connectGetNamespacedPodProxyWithPath',
    'connectGetNamespacedServiceProxy',
    'connectGetNodeProxy',
  ],
}

let texts: ParameterTexts | undefined

/** Empty where nothing is known. */
export function describeParameter(operation: string, name: string): string {
  if (texts === undefined) {
    const packaged = bundledText(parameterTextsPath)
    texts = packaged === undefined ? parameterTexts(bundledText) : (JSON.parse(packaged) as ParameterTexts)
  }
  return texts[operation]?.[name] ?? ''
}

/** Reads the typings. */
export function parameterTexts(read: (path: string) => string | undefined): ParameterTexts {
  const found: ParameterTexts = {}
  for (const [file, operations] of Object.entries(describedOperations)) {
    const source = read(`node_modules/@kubernetes/client-node/dist/gen/apis/${file}.d.ts`) ?? ''
    for (const operation of operations) found[operation] = parametersOf(source, operation)
  }
  return found
}

/** The `@param` lines above the first method of that name. */
function parametersOf(source: string, operation: string): Record<string, string> {
  const end = source.indexOf(`\n    ${operation}(`)
  if (end < 0) return {}
  const comment = source.slice(source.lastIndexOf('/**', end), end)
  const found: Record<string, string> = {}
  for (const [, name = '', text = ''] of comment.matchAll(/^ *\* @param (\S+) (.+)$/gm)) {
    // The client evades words of JavaScript with an underscore.
    found[name.replace(/^_/, '')] ??= withLineBreaks(
      fromHtml(text)
        .replace(/\\(["'\\])/g, '$1')
        .trimEnd(),
    )
  }
  return found
}

function fromHtml(text: string): string {
  return text.replace(/&(?:#(x?)([0-9A-Fa-f]+)|(quot|amp|lt|gt));/g, (_, hex: string, code: string | undefined, name: string) =>
    code === undefined ? (entities[name] ?? '') : String.fromCodePoint(Number.parseInt(code, hex === 'x' ? 16 : 10)),
  )
}

const entities: Readonly<Record<string, string>> = { quot: '"', amp: '&', lt: '<', gt: '>' }
