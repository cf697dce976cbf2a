import { directives, type Position, type Words } from './words.ts'

const templates = 'go-template go-template-file json jsonpath jsonpath-as-json jsonpath-file kyaml name template templatefile yaml'.split(
  ' ',
)
const tables = ['custom-columns', 'custom-columns-file', 'wide']

/** What may stand behind a flag. */
export async function flagValues({ line, cluster }: Position, flag: string): Promise<Words> {
  const listed = (words: readonly string[]): Words => ({ words, directive: directives.noFiles })
  const { path, flags } = line.command
  if (flag === 'namespace') return listed(await cluster.names('namespaces'))
  if (flag === 'context') return listed(await cluster.entries('contexts'))
  if (flag === 'cluster') return listed(await cluster.entries('clusters'))
  if (flag === 'user') return listed(await cluster.entries('users'))
  if (flag === 'output' && path === 'get') return listed([...templates, ...tables].sort())
  if (flag === 'output' && flags.some(({ name }) => name === 'template')) return listed(templates)
  if (flag === 'container' && line.args[0] !== undefined) return listed(await cluster.containers(line.args[0]).catch(() => []))
  if (flag === 'filename') return { words: ['json', 'yaml', 'yml'], directive: directives.fileExtensions }
  return { words: [], directive: directives.plain }
}
