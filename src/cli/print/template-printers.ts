import { jsonText } from '#api/codec/json-text.ts'
import { JsonPathError } from '#api/meta/json-path.ts'
import { CliError } from '#cli/cli-error.ts'
import { GoTemplate } from '#cli/template/go-template.ts'
import { TemplateError } from '#cli/template/go-template-lexer.ts'
import { goSyntax, sortedKeys } from '#cli/template/go-values.ts'
import { JsonPathTemplate } from '#cli/template/json-path-template.ts'
import type { Printer } from './printer.ts'

export function jsonPathPrinter(text: string, { asJson, allowsMissing }: { asJson: boolean; allowsMissing: boolean }): Printer {
  const template = parsed()
  return (object) => {
    try {
      if (asJson)
        return template
          .values(sortedKeys(object))
          .map((found) => `${jsonText(found, 4)}\n`)
          .join('')
      return template.render(object)
    } catch (error) {
      if (!(error instanceof JsonPathError)) throw error
      const given = goSyntax(object)
      throw new CliError(
        `error executing jsonpath ${JSON.stringify(text)}: Error executing template: ${error.message}. Printing more information for debugging the template:\n\ttemplate was:\n\t\t${text}\n\tobject given to jsonpath engine was:\n\t\t${given}\n\n\n`,
      )
    }
  }

  function parsed(): JsonPathTemplate {
    try {
      return new JsonPathTemplate(text, { isStrict: !allowsMissing })
    } catch (error) {
      throw new CliError(`error parsing jsonpath ${text}, ${(error as Error).message}`)
    }
  }
}

export function goTemplatePrinter(text: string, { allowsMissing }: { allowsMissing: boolean }): Printer {
  const template = parsed()
  return (object) => {
    try {
      return template.render(object, { allowsMissing })
    } catch (error) {
      if (!(error instanceof TemplateError)) throw error
      throw new CliError(`error executing template ${JSON.stringify(text)}: template: output:1: executing "output" at ${error.message}`)
    }
  }

  function parsed(): GoTemplate {
    try {
      return new GoTemplate(text)
    } catch (error) {
      throw new CliError(`error parsing template ${text}, template: output:1: ${(error as Error).message}`)
    }
  }
}
