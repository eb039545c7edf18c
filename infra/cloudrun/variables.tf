variable "project" {
  description = "Google Cloud project."
  type        = string
}

variable "region" {
  description = "Region of Cloud Run."
  type        = string
  default     = "europe-west1"
}

variable "image" {
  description = "Image with its digest, as REGION-docker.pkg.dev/PROJECT/REPOSITORY/NAME@sha256:DIGEST."
  type        = string
}

variable "api_key_secret" {
  description = "Secret of Secret Manager that holds the API key."
  type        = string
  default     = "ranklet-api-key"
}

variable "max_instances" {
  description = "Instances at most: a bound for the bill."
  type        = number
  default     = 10
}

variable "public" {
  description = "Let anybody call; the API key is asked for all the same."
  type        = bool
  default     = false
}
