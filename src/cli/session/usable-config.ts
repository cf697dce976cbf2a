/** What is wrong with a kubeconfig's cluster and user, in the words of kubectl, all at once. */
import { isAbsolute, join } from 'node:path'
import type { Files } from '#base/files.ts'
import { fileErrorText } from './file-error-text.ts'

type Part = { name: string; value: Readonly<Record<string, unknown>>; directory: string }

export async function clusterProblems({ name, value, directory }: Part, files: Files): Promise<string[]> {
  return unreadable(
    files,
    directory,
    value['certificate-authority'],
    (path, why) => `unable to read certificate-authority ${path} for ${name} due to ${why}`,
  )
}

export async function userProblems({ name, value, directory }: Part, files: Files): Promise<string[]> {
  const problems: string[] = []
  const [certificate, key] = [value['client-certificate'], value['client-key']]
  if (certificate || value['client-certificate-data']) {
    if (!key && !value['client-key-data'])
      problems.push(`client-key-data or client-key must be specified for ${name} to use the clientCert authentication method.`)
    if (!value['client-certificate-data'])
      problems.push(
        ...(await unreadable(files, directory, certificate, (path, why) => `unable to read client-cert ${path} for ${name} due to ${why}`)),
      )
    if (!value['client-key-data'])
      problems.push(
        ...(await unreadable(files, directory, key, (path, why) => `unable to read client-key ${path} for ${name} due to ${why}`)),
      )
  }
  const exec = value['exec'] as { apiVersion?: string; command?: string; interactiveMode?: string } | undefined
  if (exec) {
    const missing = (what: string) => `${what} must be specified for ${name} to use exec authentication plugin`
    if (!exec.command) problems.push(missing('command'))
    if (!exec.apiVersion) problems.push(missing('apiVersion'))
    // The first versions had none, and have a default.
    if (exec.apiVersion === 'client.authentication.k8s.io/v1' && !exec.interactiveMode) problems.push(missing('interactiveMode'))
  }
  const methods = [
    ...(value['token'] || value['tokenFile'] ? ['token'] : []),
    ...(value['username'] || value['password'] ? ['basicAuth'] : []),
  ]
  if (methods.length > 1)
    problems.push(`more than one authentication method found for ${name}; found [${methods.join(' ')}], only one is allowed`)
  return problems
}

async function unreadable(files: Files, directory: string, path: unknown, told: (path: string, why: string) => string): Promise<string[]> {
  if (typeof path !== 'string' || path === '') return []
  const whole = isAbsolute(path) ? path : join(directory, path)
  try {
    await files.read(whole)
    return []
  } catch (error) {
    return [told(whole, fileErrorText(error))]
  }
}
